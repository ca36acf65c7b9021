//! The commands of menus: what they do to items.

use std::ops::ControlFlow;

use menu::{
    By, Call, Fill, Id, Kind, Labour, Menu, Output, Policies, Property, Reason, Refusal, Reply,
    Row, RowFilter, Script, Slices, stream_rows,
};

use crate::ast::{Argument, Command};
use crate::eval::Condition;
use crate::inspect::inspect;
use crate::language::argument;
use crate::machine::{self, Collected, Machine};
use crate::page::page;
use crate::ready::{self, Loan, Ready};
use crate::value::Value;
use crate::watch::Watching;

/// Values by property; `None` unsets.
type Given = Vec<(&'static str, Option<menu::Value>)>;

/// Values of the arguments of a command of the router's own.
type Own = Vec<(&'static str, menu::Value)>;

type Result<T> = std::result::Result<T, Refusal>;

/// Rows that are looked at before others have their turn at the router.
pub(crate) const SLICE: usize = 500;

impl Machine<'_> {
    /// Runs a command of a menu.
    pub(crate) fn menu_command(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        command: &Command,
    ) -> machine::Result<Value> {
        self.permit(menu, name)?;
        match name {
            "print" => self.print_menu(menu, command),
            "find" => self.find(menu, command),
            "export" => self.export(menu.path, Some(menu), command),
            "get" => {
                let ready = self.ready(command)?;
                self.with(|loan| loan.get(menu, &ready))
            }
            _ if menu.commands.iter().any(|own| own.name == name) => self.act(menu, name, command),
            _ => {
                let ready = self.ready(command)?;
                self.with(|loan| loan.change(|loan| loan.edit(menu, name, &ready)))
            }
        }
    }

    /// The condition of a `find` or `print`, ready for rows.
    pub(crate) fn condition(&mut self, command: &Command) -> machine::Result<Option<Condition>> {
        let expr = argument(command, "where").and_then(|argument| argument.value.as_ref());
        expr.map(|expr| self.prepare(expr)).transpose()
    }

    /// Gives the rows of a menu, a slice at a time, with the router free for others in between.
    pub(crate) fn each_slice(
        &mut self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        mut each: impl FnMut(&mut Self, Vec<Row>) -> machine::Result<()>,
    ) -> machine::Result<()> {
        let mut slices = Slices::new(menu);
        loop {
            let rows = self.with(|loan| Ok(slices.next(loan.store, loan.live, filter, SLICE)))?;
            if !rows.is_empty() || !slices.is_over() {
                self.step()?;
            }
            if !rows.is_empty() {
                each(self, rows)?;
            }
            if slices.is_over() {
                return Ok(());
            }
        }
    }

    fn find(&mut self, menu: &'static Menu, command: &Command) -> machine::Result<Value> {
        let condition = self.condition(command)?;
        let mut found = Vec::new();
        let hidden = !self.sees_secrets();
        with_filter(menu, condition.as_ref(), hidden, |filter| {
            self.each_slice(menu, filter, |machine, rows| {
                machine.charge(rows.len() * 2 * size_of::<Value>())?;
                found.extend(
                    rows.iter()
                        .filter_map(|row| row.id)
                        .map(|id| (None, Value::Id(id))),
                );
                Ok(())
            })
        })?;
        Ok(Value::array(found))
    }

    /// A command that is not about configuration: the router's.
    fn act(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        command: &Command,
    ) -> machine::Result<Value> {
        let ready = self.ready(command)?;
        let manner = self.watching(menu, name, command, &ready)?;
        let made = self.labour(menu, name, &ready)?;
        loop {
            if !manner.once {
                self.repaint()?;
            }
            let value = self.act_once(menu, name, (&ready, made.as_deref()), &manner)?;
            if manner.once || manner.is_over(self.site.now()) {
                return Ok(value);
            }
            self.pause(manner.every)?;
        }
    }

    /// Does what a command needs done before it has the router.
    pub(crate) fn labour(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        ready: &Ready<'_>,
    ) -> machine::Result<Option<Vec<u8>>> {
        if self.checking || menu.is_idle(name) {
            return Ok(None);
        }
        let labour = self.with(|loan| loan.labour(menu, name, ready))?;
        let made = labour.map(|labour| labour().map_err(Reason::nowhere));
        Ok(made.transpose()?)
    }

    fn act_once(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        with: (&Ready<'_>, Option<&[u8]>),
        manner: &Watching,
    ) -> machine::Result<Value> {
        let checking = self.checking;
        let mut text = Collected::new(self.out.width());
        let run = |loan: &mut Loan<'_>| Ok(loan.act(menu, name, with, checking, &mut text));
        let reply = self.with(run)?;
        // What was said before a refusal is to be read as well.
        self.print(&text.text)?;
        let (mut reply, scripts) = reply?;
        for script in &scripts {
            self.run_script(menu.path, script)?;
        }
        for row in &mut reply.rows {
            row.cells.retain(|(name, _)| manner.wants(name));
        }
        if !manner.as_value {
            // What is watched together stands side by side; the steps of an answer follow each other.
            let together = match crate::spec::watches(menu, name) {
                true => reply.rows.len().max(1),
                false => 1,
            };
            for rows in reply.rows.chunks(together) {
                self.print(&page(rows))?;
            }
        }
        for row in &reply.rows {
            self.run_each(manner, row)?;
        }
        // What scripts look into with `->`, if one item is watched.
        Ok(match &reply.rows[..] {
            [only] => row_value(only),
            rows => Value::list(rows.iter().map(row_value)),
        })
    }
}

impl Loan<'_> {
    /// Runs a change as a transaction, or as a part of the open one.
    fn change(&mut self, edit: impl FnOnce(&mut Self) -> Result<Value>) -> Result<Value> {
        let mark = self.store.begin();
        match edit(self) {
            Ok(value) => {
                let by = By::user(self.caller.user, self.live.clock());
                let changes = self.store.commit_by(mark, by);
                let changes = changes.map_err(|reason| reason.nowhere())?;
                if let Some(changes) = changes {
                    self.live.changed(self.store, &changes);
                }
                Ok(value)
            }
            Err(stop) => {
                self.store.rollback(mark);
                Err(stop)
            }
        }
    }

    fn edit(&mut self, menu: &'static Menu, name: &str, ready: &Ready<'_>) -> Result<Value> {
        if !menu.filled.iter().any(|(_, fill)| *fill == Fill::User) {
            return self.edit_any(menu, name, ready);
        }
        let mut ids = match name {
            "add" => Vec::new(),
            _ => self.selected(menu, ready, "numbers")?,
        };
        ids.iter().try_for_each(|id| self.may_own(menu, *id))?;
        let value = self.edit_any(menu, name, ready)?;
        if let Value::Id(id) = value {
            ids.push(id);
        }
        ids.iter().try_for_each(|id| self.may_own(menu, *id))?;
        Ok(value)
    }

    /// Refuses what would let a user do by a script what the user may not do, or do it as another.
    fn may_own(&self, menu: &'static Menu, id: Id) -> Result<()> {
        let Some(item) = self.store.item(menu.path, id) else {
            return Ok(());
        };
        let asked = item.get("policy").map(Policies::from_value);
        let own = item.text("owner") == self.caller.user;
        let may = self.policies.contains(asked.unwrap_or_default())
            && (own || self.policies.contains(Policies::POLICY));
        if may {
            return Ok(());
        }
        Err(Reason::Denied.nowhere())
    }

    fn edit_any(&mut self, menu: &'static Menu, name: &str, ready: &Ready<'_>) -> Result<Value> {
        if name == "add" {
            return self.add(menu, ready).map(Value::Id);
        }
        if name == "set" && !menu.has_rows() {
            let given = self.given(menu, ready)?;
            self.store
                .set(menu, Id::SETTINGS, &given)
                .map_err(|reason| reason.nowhere())?;
            return Ok(Value::Nothing);
        }
        let whole = name == "set" && !ready.has("numbers");
        // What was one set of settings in older versions is an item now.
        let supposed = match menu.supposed.is_empty() || !whole {
            true => None,
            false => {
                let made = self.store.ensure_supposed(menu, "");
                made.map_err(|reason| reason.nowhere())?
            }
        };
        let ids = match supposed {
            Some(id) => vec![id],
            None => self.selected(menu, ready, "numbers")?,
        };
        let given = self.edits(menu, name, ready)?;
        let mut dynamic = Vec::new();
        let place = if name == "move" {
            self.place(menu, ready, "destination")?
        } else {
            None
        };
        for id in ids {
            if self.store.item(menu.path, id).is_none() {
                dynamic.push(id);
                continue;
            }
            let done = match name {
                "remove" => self.store.remove(menu, id),
                "move" => self.store.move_before(menu, id, place),
                "reset" => {
                    let names: Vec<_> = given.iter().map(|(name, _)| *name).collect();
                    self.store.reset(menu, id, &names)
                }
                _ => self.store.set(menu, id, &given),
            };
            done.map_err(|reason| reason.nowhere())?;
        }
        self.edit_dynamic(menu, name, &dynamic, given)?;
        Ok(Value::Nothing)
    }

    /// What a command that is neither `add` nor `set` sets.
    fn edits(&mut self, menu: &'static Menu, name: &str, ready: &Ready<'_>) -> Result<Given> {
        Ok(match name {
            "set" => self.given(menu, ready)?,
            "enable" => vec![("disabled", Some(menu::Value::Bool(false)))],
            "disable" => vec![("disabled", Some(menu::Value::Bool(true)))],
            "comment" => {
                let text = ready.text("comment").unwrap_or_default();
                vec![("comment", Some(menu::Value::text(text)))]
            }
            "unset" | "reset" => {
                let names = ready.text("value-name").unwrap_or_default();
                let find = |name: &str| {
                    let property = menu.property(name).filter(|p| !p.read_only);
                    property.ok_or_else(|| Reason::no_match("value-name").nowhere())
                };
                let names = names.split([',', ';']).map(str::trim);
                names
                    .map(|name| Ok((find(name)?.name, None)))
                    .collect::<Result<_>>()?
            }
            _ => Vec::new(),
        })
    }

    /// Rows that are no items are the router's to change.
    fn edit_dynamic(
        &mut self,
        menu: &'static Menu,
        name: &str,
        ids: &[Id],
        given: Given,
    ) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let command = ["remove", "enable", "disable", "set", "comment"];
        let Some(command) = command.into_iter().find(|command| *command == name) else {
            return Err(Reason::NoItem.nowhere());
        };
        if ids.iter().any(|id| self.row(menu, *id).is_none()) {
            return Err(Reason::NoItem.nowhere());
        }
        let arguments: Vec<_> = given
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        let call = Call {
            menu,
            command,
            items: ids,
            arguments: &arguments,
            made: None,
        };
        self.live
            .action(self.store, &call)
            .map_err(|reason| reason.nowhere())?;
        Ok(())
    }

    fn add(&mut self, menu: &'static Menu, ready: &Ready<'_>) -> Result<Id> {
        let mut given = self.given(menu, ready)?;
        if ready.has("copy-from") {
            let copy = self.selected(menu, ready, "copy-from")?;
            let item = copy
                .first()
                .and_then(|id| self.store.item(menu.path, *id))
                .cloned();
            let item = item.ok_or_else(|| Reason::NoItem.nowhere())?;
            for (property, value) in item.values() {
                if !property.read_only && given.iter().all(|(name, _)| *name != property.name) {
                    given.push((property.name, Some(value.clone())));
                }
            }
        }
        for (name, fill) in menu.filled {
            if given.iter().all(|(own, _)| own != name) {
                given.push((name, Some(menu::Value::text(self.filled(*fill)))));
            }
        }
        // RouterOS: a script may by itself do no more than who makes it.
        let given_policy = given.iter().any(|(name, _)| *name == "policy");
        if let Some(property) = menu.property("policy").filter(|_| !given_policy)
            && menu.filled.iter().any(|(_, fill)| *fill == Fill::User)
            && let Some(usual) = property.default
        {
            let usual = property.kind.parse(property.name, usual);
            let usual = Policies::from_value(&usual.map_err(Reason::nowhere)?);
            let text = usual.and(self.policies).to_string();
            let value = self.store.parse(property, &text).map_err(Reason::nowhere)?;
            given.push((property.name, value));
        }
        let before = self.place(menu, ready, "place-before")?;
        self.store
            .add(menu, &given, before)
            .map_err(|reason| reason.nowhere())
    }

    /// What a new item gets from who makes it and when.
    fn filled(&self, fill: Fill) -> String {
        let clock = self.live.clock().date_time();
        let (date, time) = clock.split_once(' ').unwrap_or_default();
        match fill {
            Fill::Date => date.to_owned(),
            Fill::Time => time.to_owned(),
            Fill::User => self.caller.user.to_owned(),
        }
    }

    /// The item that an argument names a place by.
    fn place(
        &self,
        menu: &'static Menu,
        ready: &Ready<'_>,
        name: &'static str,
    ) -> Result<Option<Id>> {
        if !ready.has(name) {
            return Ok(None);
        }
        let named = self.selected(menu, ready, name)?.first().copied();
        match named {
            Some(id)
                if self.store.item(menu.path, id).is_none() && self.row(menu, id).is_some() =>
            {
                Ok(self.behind(menu, id))
            }
            _ => Ok(named),
        }
    }

    /// The item behind a dynamic row, as rows were numbered last; none at the end. RouterOS: what is
    /// placed before the row that counts for FastTrack comes behind all that was placed there before.
    fn behind(&self, menu: &'static Menu, row: Id) -> Option<Id> {
        let is_item = |id: &Id| self.store.item(menu.path, *id).is_some();
        match self.numbers.get(menu.path) {
            Some(numbers) => {
                let rest = numbers.iter().skip_while(|id| **id != row);
                rest.copied().find(is_item)
            }
            // Dynamic rows come first.
            None => self.store.items(menu.path).next().map(|item| item.id),
        }
    }

    /// The values that a command gives, with words of older versions translated.
    fn given(&mut self, menu: &'static Menu, ready: &Ready<'_>) -> Result<Given> {
        let mut given = Given::with_capacity(ready.command.arguments.len());
        for (argument, value) in ready.arguments() {
            let taken = ["numbers", "copy-from", "place-before"];
            if taken.contains(&argument.name.as_str()) {
                continue;
            }
            let text = ready::text(argument, value);
            let value = self.translate(menu, argument, text.as_deref());
            let Some((property, text)) = value.map_err(|reason| reason.at(argument.at))? else {
                continue;
            };
            let value = match text {
                None => None,
                Some(text) => self
                    .store
                    .parse(property, &text)
                    .map_err(|reason| reason.at(argument.at))?,
            };
            // That an older word says nothing does not take away what the newer one says.
            let older = argument.negated && argument.name != property.name;
            if older && given.iter().any(|(name, _)| *name == property.name) {
                continue;
            }
            given.retain(|(name, _)| *name != property.name);
            given.push((property.name, value));
        }
        Ok(given)
    }

    /// The property that an argument means and the text of its value; `None` if it is gone.
    fn translate(
        &mut self,
        menu: &'static Menu,
        argument: &Argument,
        text: Option<&str>,
    ) -> std::result::Result<Option<(&'static Property, Option<String>)>, Reason> {
        let old = menu.old.iter().find(|old| {
            old.name == argument.name && old.value.is_none_or(|value| Some(value) == text)
        });
        let Some(old) = old else {
            let property = menu
                .property(&argument.name)
                .filter(|property| !property.read_only);
            let property = property.ok_or(Reason::ExpectedEnd)?;
            return Ok(Some((property, text.map(str::to_owned))));
        };
        let Some(property) = menu.property(old.becomes) else {
            return Ok(None);
        };
        let text = old.with.or(text).map(str::to_owned);
        if let (Some(values), Some(name), Some(space)) = (old.makes, &text, property.kind.space())
            && !name.is_empty()
            && self.store.named(space, name).is_none()
        {
            self.make(space, name, values)?;
        }
        Ok(Some((property, text)))
    }

    /// Makes the item that a word of an older version made by itself.
    fn make(
        &mut self,
        space: &str,
        name: &str,
        values: &[(&'static str, &str)],
    ) -> std::result::Result<(), Reason> {
        let menu = self.store.menus().iter().find(|menu| {
            // Of several menus the one whose items have these values.
            let fits = values.iter().all(|(name, _)| menu.property(name).is_some());
            menu.space == Some(space) && menu.grows() && fits
        });
        let Some(menu) = menu else { return Ok(()) };
        let mut given = vec![(menu.key.unwrap_or("name"), Some(menu::Value::text(name)))];
        for (name, text) in values {
            if let Some(property) = menu.property(name) {
                given.push((property.name, self.store.parse(property, text)?));
            }
        }
        self.store.add(menu, &given, None).map(drop)
    }

    fn get(&mut self, menu: &'static Menu, ready: &Ready<'_>) -> Result<Value> {
        let mut name = ready.text("value-name");
        let row = if menu.has_rows() {
            let ids = self.selected(menu, ready, "number")?;
            let id = ids.first().ok_or_else(|| Reason::NoItem.nowhere())?;
            self.row(menu, *id)
                .ok_or_else(|| Reason::NoItem.nowhere())?
        } else {
            let mut row = None;
            let all = RowFilter {
                without_secrets: self.without_secrets,
                ..RowFilter::default()
            };
            let _ = stream_rows(self.store, self.live, menu, &all, &mut |found| {
                row = Some(found);
                ControlFlow::Break(())
            });
            row.unwrap_or_default()
        };
        let Some(name) = name.take() else {
            return Ok(row_value(&row));
        };
        if name == ".id" {
            return Ok(row.id.map_or(Value::Nothing, Value::Id));
        }
        let known = menu.property(&name).map(|property| property.name);
        let flag = menu
            .flags
            .iter()
            .find(|flag| flag.name == name)
            .map(|flag| flag.name);
        match (known, flag) {
            (Some(name), _) => Ok(row.get(name).map_or(Value::Nothing, Value::from)),
            (None, Some(flag)) => Ok(Value::Bool(row.is(flag))),
            (None, None) => Err(Reason::no_match("value-name").nowhere()),
        }
    }

    /// The items and the other arguments of a command of the router's own.
    fn own_arguments(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        ready: &Ready<'_>,
    ) -> Result<(Vec<Id>, Own)> {
        let Some(own) = menu.commands.iter().find(|own| own.name == name) else {
            return Err(Reason::BadCommand(name.to_owned()).nowhere());
        };
        let mut items = Vec::new();
        let mut arguments = Vec::new();
        for taken in own.arguments {
            if !ready.has(taken.name) {
                if taken.required {
                    return Err(Reason::Missing(vec![taken.name]).at(ready.command.at));
                }
                continue;
            }
            if matches!(taken.name, "numbers" | "number") {
                items = self.selected(menu, ready, taken.name)?;
                continue;
            }
            let text = ready.text(taken.name).unwrap_or_default();
            let parsed = taken.kind.parse(taken.name, &text);
            arguments.push((taken.name, parsed.map_err(|reason| reason.nowhere())?));
        }
        Ok((items, arguments))
    }

    /// What has to be done before [`Loan::act`].
    fn labour(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        ready: &Ready<'_>,
    ) -> Result<Option<Labour>> {
        let (items, arguments) = self.own_arguments(menu, name, ready)?;
        let call = Call {
            menu,
            command: name,
            items: &items,
            arguments: &arguments,
            made: None,
        };
        let labour = self.live.labour(self.store, &call);
        labour.map_err(|reason| reason.nowhere())
    }

    /// A command that is not about configuration: the router's.
    pub(crate) fn act(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        (ready, made): (&Ready<'_>, Option<&[u8]>),
        checking: bool,
        out: &mut dyn Output,
    ) -> Result<(Reply, Vec<Script>)> {
        let (items, arguments) = self.own_arguments(menu, name, ready)?;
        // In a check there is no router that could answer.
        if menu.is_idle(name) || checking {
            return Ok(Default::default());
        }
        if menu.path == "/log" {
            let text = arguments
                .first()
                .map(|(_, value)| value.to_string())
                .unwrap_or_default();
            self.live.log(&format!("script,{name}"), &text);
            return Ok(Default::default());
        }
        if (menu.path, name) == ("/console", "inspect") {
            let text = |name: &str| ready.text(name).unwrap_or_default();
            let requests = ready.text("request").unwrap_or_else(|| "child".to_owned());
            let (path, input) = (text("path"), text("input"));
            let rows = requests
                .split(',')
                .flat_map(|request| inspect(self.store, request, &path, &input));
            let reply = Reply {
                rows: rows.collect(),
            };
            return Ok((reply, Vec::new()));
        }
        let call = Call {
            menu,
            command: name,
            items: &items,
            arguments: &arguments,
            made,
        };
        let scripts = self.live.scripts(self.store, &call);
        let scripts = scripts.map_err(|reason| reason.nowhere())?;
        if !scripts.is_empty() {
            return Ok((Reply::default(), scripts));
        }
        let managed = self.live.manage(self.store, &call, &self.caller, out);
        let reply = managed.unwrap_or_else(|| self.live.action(self.store, &call));
        Ok((reply.map_err(|reason| reason.nowhere())?, scripts))
    }
}

/// Runs `run` with the filter of a condition: equalities are given for looking up, and secrets are
/// kept from those who may not see them.
pub(crate) fn with_filter<T>(
    menu: &'static Menu,
    condition: Option<&Condition>,
    without_secrets: bool,
    run: impl FnOnce(&RowFilter<'_>) -> T,
) -> T {
    let Some(condition) = condition else {
        return run(&RowFilter {
            without_secrets,
            ..RowFilter::default()
        });
    };
    let mut pairs = Vec::new();
    condition.equalities(&mut pairs);
    let typed = pairs
        .into_iter()
        .filter_map(|(name, value)| looked_up(menu, name, &value.to_string()));
    let equals = typed.collect();
    let test = |row: &Row| condition.holds(row);
    run(&RowFilter {
        equals,
        test: Some(&test),
        without_secrets,
    })
}

/// The cell by which rows are looked up that must have this value.
pub(crate) fn looked_up(
    menu: &'static Menu,
    name: &str,
    text: &str,
) -> Option<(&'static str, menu::Value)> {
    let property = menu.property(name)?;
    // Types with one spelling per value, so that to look up is to compare.
    let exact = matches!(
        property.kind,
        Kind::Address(_) | Kind::Prefix(_) | Kind::Mac | Kind::Reference(_) | Kind::Name
    );
    let value = exact.then(|| property.kind.parse(name, text).ok())??;
    Some((property.name, value))
}

/// A row as an array with keys.
pub(crate) fn row_value(row: &Row) -> Value {
    let mut elements = Vec::new();
    if let Some(id) = row.id {
        Value::insert(&mut elements, ".id".to_owned(), Value::Id(id));
    }
    for (name, value) in &row.cells {
        Value::insert(&mut elements, (*name).to_owned(), Value::from(value));
    }
    Value::array(elements)
}
