//! Decodes REST requests: JSON bodies, filters in the query string, percent encoding.

use menu::bytes;
use script::Request;
use serde_json::Value;

/// Decodes a JSON body into arguments and query of a request. An empty body is valid.
///
/// # Errors
/// Description of the fault.
pub(crate) fn read(body: &[u8], request: &mut Request) -> Result<(), String> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let value: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let Value::Object(members) = value else {
        return Err(String::from("expected an object"));
    };
    for (name, value) in members {
        if name != ".query" {
            let text = text(&name, &value)?;
            request.arguments.push((name, text));
            continue;
        }
        let Value::Array(words) = value else {
            return Err(String::from(".query is not an array"));
        };
        for word in words {
            let Value::String(word) = word else {
                return Err(String::from(".query has an element that is not a string"));
            };
            request.query.push(word);
        }
    }
    Ok(())
}

/// Converts a JSON value to the text of an argument.
fn text(name: &str, value: &Value) -> Result<String, String> {
    Ok(match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        // RouterOS: numbers have no fraction or exponent.
        Value::Number(number) if number.is_f64() => {
            return Err(format!("{name} is not an integer"));
        }
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            let texts = values.iter().map(|value| match value {
                Value::Array(_) | Value::Object(_) => Err(format!("{name} is nested too deep")),
                value => text(name, value),
            });
            texts.collect::<Result<Vec<_>, _>>()?.join(",")
        }
        Value::Object(_) => return Err(format!("{name} is an object")),
    })
}

/// Decodes `a=b&c&.proplist=x,y` into a query and a list of properties. RouterOS: a filter with several values
/// separated by commas selects rows with any of them.
pub(crate) fn filters(query: &str, request: &mut Request) {
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let word = unescape(part);
        match word.strip_prefix(".proplist=") {
            Some(names) => {
                let names = (String::from(".proplist"), names.to_owned());
                request.arguments.push(names);
            }
            None => filter(word, &mut request.query),
        }
    }
}

/// Adds the query words of one filter. The value as a whole is compared too, because it may itself contain
/// commas.
fn filter(word: String, query: &mut Vec<String>) {
    let any: Vec<_> = match word.split_once('=') {
        Some((name, values)) if !word.starts_with(['<', '>', '-', '#']) && values.contains(',') => {
            let values = values.split(',').filter(|value| !value.is_empty());
            values.map(|value| format!("{name}={value}")).collect()
        }
        _ => Vec::new(),
    };
    query.push(word);
    for word in any {
        query.extend([word, String::from("#|")]);
    }
}

/// Decodes percent encoding.
pub fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let escaped = (*byte == b'%').then(|| after.get(..2).and_then(hex));
        match escaped.flatten() {
            Some(escaped) => {
                out.push(escaped);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    bytes::from_bytes(&out)
}

fn hex(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok()?;
    let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u8::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_text(body: &str) -> Result<Request, String> {
        let mut request = Request::default();
        read(body.as_bytes(), &mut request).map(|()| request)
    }

    #[test]
    fn json_values_of_all_types_become_texts() {
        let body = r#"{"address":"10.0.0.1/24","mtu":1500,"disabled":true,"x":["a",1],"y":null,
            "!comment":"",".proplist":[".id","name"],".query":["type=ether","\#|"]}"#
            .replace("\\#", "#");

        let request = read_text(&body).expect("JSON");

        let arguments = request.arguments.iter();
        let arguments: Vec<_> = arguments.map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(
            arguments,
            [
                "!comment=",
                ".proplist=.id,name",
                "address=10.0.0.1/24",
                "disabled=true",
                "mtu=1500",
                "x=a,1",
                "y="
            ]
        );
        assert_eq!(request.query, ["type=ether", "#|"]);
        assert_eq!(read_text(" \n"), Ok(Request::default()));
    }

    #[test]
    fn unknown_body_members_are_refused() {
        for body in [
            "[]",
            "7",
            "{",
            r#"{"a":1.5}"#,
            r#"{"a":1e3}"#,
            r#"{"a":{}}"#,
            r#"{"a":[[1]]}"#,
            r#"{".query":"a"}"#,
            r#"{".query":[1]}"#,
        ] {
            assert!(read_text(body).is_err(), "{body}");
        }
        assert!(read_text(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn filters_are_percent_decoded_queries() {
        let mut request = Request::default();

        filters(
            "name=a%20b&.id=*1&disabled&.proplist=.id,name&x=%zz%",
            &mut request,
        );

        assert_eq!(request.query, ["name=a b", ".id=*1", "disabled", "x=%zz%"]);
        let wanted = (".proplist".to_owned(), ".id,name".to_owned());
        assert_eq!(request.arguments, [wanted]);
    }

    #[test]
    fn a_filter_with_several_values_accepts_any_of_them() {
        let mut request = Request::default();

        filters("type=A,TXT&comment=cs&x=1%2C2", &mut request);

        let expected = [
            "type=A,TXT",
            "type=A",
            "#|",
            "type=TXT",
            "#|",
            "comment=cs",
            "x=1,2",
            "x=1",
            "#|",
            "x=2",
            "#|",
        ];
        assert_eq!(request.query, expected);
    }

    proptest! {
        #[test]
        fn any_body_is_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&body, &mut Request::default());
        }

        #[test]
        fn any_text_is_unescaped(text in "\\PC{0,40}") {
            let escaped: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(unescape(&escaped), bytes::from_bytes(text.as_bytes()));
        }
    }
}
