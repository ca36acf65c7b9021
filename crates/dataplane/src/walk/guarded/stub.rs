use super::*;
use crate::rule::{ChainId, Table};
impl<W: Watcher> Guard<'_, W> {
    pub(super) fn connect(&mut self) -> Result<(), Exit> {
        Ok(())
    }
    pub(super) fn confirm(&mut self, _e: InterfaceId, _h: NextHopId) -> Result<(), Exit> {
        self.passage.accepted = true;
        Ok(())
    }
    pub(super) fn recall(&mut self, _s: Side) {}
    pub(super) fn translate(
        &mut self,
        _h: Hook,
        _t: &Table,
        _c: Option<ChainId>,
        _e: InterfaceId,
    ) -> Result<(), Exit> {
        Ok(())
    }
}
