//! Which descriptor an event is for: a number that finds it in a table, or nobody.
//!
//! A badge is an index into the table and how often that entry has been used. An event for a descriptor
//! that is gone carries a badge that nobody has.

use std::sync::Arc;

/// See the module.
pub(crate) struct Table<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

struct Entry<T> {
    generation: u32,
    what: Option<Arc<T>>,
}

/// An index (low half) and its generation (high half).
pub(crate) type Badge = u64;

impl<T> Table<T> {
    pub(crate) const fn new() -> Table<T> {
        Table { entries: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, what: Arc<T>) -> Badge {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry { generation: 0, what: None });
            u32::try_from(self.entries.len() - 1).expect("there are fewer descriptors")
        });
        let entry = &mut self.entries[index as usize];
        entry.what = Some(what);
        u64::from(entry.generation) << 32 | u64::from(index)
    }

    fn entry(&mut self, badge: Badge) -> Option<&mut Entry<T>> {
        let entry = self.entries.get_mut(badge as u32 as usize)?;
        (u64::from(entry.generation) == badge >> 32 && entry.what.is_some()).then_some(entry)
    }

    pub(crate) fn get(&mut self, badge: Badge) -> Option<Arc<T>> {
        self.entry(badge)?.what.clone()
    }

    pub(crate) fn remove(&mut self, badge: Badge) -> Option<Arc<T>> {
        let entry = self.entry(badge)?;
        // After all its numbers an entry begins anew. No event is that late; if one were, it would
        // wake someone who looks again.
        entry.generation = entry.generation.wrapping_add(1);
        let what = entry.what.take();
        self.free.push(badge as u32);
        what
    }

    /// Takes all that are there.
    pub(crate) fn take_all(&mut self) -> Vec<Arc<T>> {
        let count = self.entries.len() as u64;
        let badge =
            |table: &Table<T>, n: u64| u64::from(table.entries[n as usize].generation) << 32 | n;
        (0..count).filter_map(|n| self.remove(badge(self, n))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_one_that_is_gone_finds_nobody() {
        let mut table = Table::new();
        let first = table.insert(Arc::new('a'));
        let second = table.insert(Arc::new('b'));
        assert_eq!(table.remove(first).as_deref(), Some(&'a'));
        let third = table.insert(Arc::new('c'));
        assert_eq!((first as u32, first != third), (third as u32, true));
        assert_eq!((table.get(first), table.remove(first)), (None, None));
        assert_eq!(table.get(second).as_deref(), Some(&'b'));
        assert_eq!(table.get(u64::MAX), None);
        assert_eq!(table.take_all().len(), 2);
        assert_eq!((table.get(second), table.take_all().len()), (None, 0));
    }
}
