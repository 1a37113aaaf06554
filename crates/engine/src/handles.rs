//! Open files of parts, bounded in number: a store may have more parts than a process may have
//! files open. A file that is needed again is opened again, so a part's file may only be removed
//! when nobody reads it any more, see `Part::doom`.

use crate::limits::OPEN_FILES_MAX;
use foliot_disk::{Disk, ReadFile};
use foliot_lock::{Mutex, Rank};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Files kept open, by number.
pub(crate) struct Handles {
    pub(crate) disk: Arc<dyn Disk>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// A file, and when it was used last, counted in uses.
    open: HashMap<u64, (Arc<dyn ReadFile>, u64)>,
    uses: u64,
}

impl Handles {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk, table: Mutex::new(Rank::Handles, Table::default()) }
    }

    /// The file numbered `number`, opened if it is not open.
    pub(crate) fn get(&self, number: u64, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        let mut table = self.table.lock();
        table.uses += 1;
        let now = table.uses;
        if let Some((file, used)) = table.open.get_mut(&number) {
            *used = now;
            return Ok(file.clone());
        }
        drop(table);
        let file = self.disk.open(path)?;
        let mut table = self.table.lock();
        let mut closed = None;
        if table.open.len() >= OPEN_FILES_MAX {
            let oldest = table.open.iter().min_by_key(|(_, (_, used))| *used);
            let oldest = oldest.map(|(number, _)| *number);
            closed = oldest.and_then(|number| table.open.remove(&number));
        }
        table.open.insert(number, (file.clone(), now));
        drop(table);
        // Others do not wait for the system.
        drop(closed);
        Ok(file)
    }

    /// Closes a file and removes it. If that fails it is a leftover, removed when the store is
    /// opened next.
    pub(crate) fn remove(&self, number: u64, path: &Path) {
        self.table.lock().open.remove(&number);
        let _ = self.disk.remove(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_disk::SimDisk;
    use std::path::PathBuf;

    #[test]
    fn more_files_than_may_be_open_can_be_read() {
        let disk = SimDisk::new(1);
        let path = |number: u64| PathBuf::from(number.to_string());
        let numbers = 0..OPEN_FILES_MAX as u64 * 2;
        for number in numbers.clone() {
            disk.create(&path(number)).unwrap().append(&number.to_le_bytes()).unwrap();
        }
        let handles = Handles::new(Arc::new(disk));
        for number in numbers.clone().chain(numbers) {
            let mut bytes = [0; 8];
            handles.get(number, &path(number)).unwrap().read_at(&mut bytes, 0).unwrap();
            assert_eq!(u64::from_le_bytes(bytes), number);
            assert!(handles.table.lock().open.len() <= OPEN_FILES_MAX);
        }
        handles.remove(1, &path(1));
        assert!(handles.get(1, &path(1)).is_err());
    }
}
