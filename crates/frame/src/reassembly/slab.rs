//! A slab: values keep their index until they are removed; free indices are reused.

/// No index.
pub(super) const NONE: u32 = u32::MAX;

/// A slab of values.
#[derive(Debug)]
pub(super) struct Slab<V> {
    places: Vec<Option<V>>,
    free: Vec<u32>,
}

impl<V> Default for Slab<V> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<V> Slab<V> {
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn get(&self, at: u32) -> Option<&V> {
        self.places.get(at as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut V> {
        self.places.get_mut(at as usize)?.as_mut()
    }

    pub(super) fn insert(&mut self, value: V) -> u32 {
        match self.free.pop() {
            Some(at) => {
                if let Some(place) = self.places.get_mut(at as usize) {
                    *place = Some(value);
                }
                at
            }
            None => {
                self.places.push(Some(value));
                self.places.len() as u32 - 1
            }
        }
    }

    pub(super) fn remove(&mut self, at: u32) -> Option<V> {
        let value = self.places.get_mut(at as usize)?.take()?;
        self.free.push(at);
        Some(value)
    }
}
