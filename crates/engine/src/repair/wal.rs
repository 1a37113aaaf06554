//! Repair of the wal: all changes but samples stand in it twice, and one gives the other back. What
//! else of it is damaged has no copy: a check goes on telling it until a flush has made it
//! superfluous.

use super::Repairer;
use crate::error::Error;
use crate::manifest::Manifest;
use crate::wal::reader::{self, Mend};
use std::path::PathBuf;

impl Repairer<'_> {
    pub(super) fn wal(&mut self, manifest: &Manifest) -> Result<(), Error> {
        let (store_id, start_lsn) = (manifest.store_id, manifest.wal_start_lsn);
        let each = &mut |_, _, _: &[u8]| Ok(());
        let mends = reader::replay(&**self.disk, self.dir, store_id, start_lsn, each)?.mends;
        for mends in mends.chunk_by(|a, b| a.path == b.path) {
            self.mend_segment(mends)?;
        }
        Ok(())
    }

    /// Writes a segment anew, with frames in the places of damaged ones.
    fn mend_segment(&mut self, mends: &[Mend]) -> Result<(), Error> {
        let Some(path) = mends.first().map(|mend| PathBuf::from(&mend.path)) else { return Ok(()) };
        let file = self.disk.open(&path).map_err(Error::io("open", &path))?;
        let mut damaged = vec![0; file.len() as usize];
        file.read_at(&mut damaged, 0).map_err(Error::io("read", &path))?;
        let mut bytes = damaged.clone();
        for Mend { offset, bytes: frame, .. } in mends {
            let start = *offset as usize;
            if let Some(place) = bytes.get_mut(start..start + frame.len()) {
                place.copy_from_slice(frame);
            }
            let reason = "a damaged frame is mended by its copy";
            self.done.mended.push(Error::corrupt(&path, *offset, reason).to_string());
        }
        self.exchange(&path, &damaged, &bytes)
    }
}
