//! Label pages: what the series of a final part are called, so that the part can be read alone.
//!
//! ```text
//! label page  length of what follows u32 | name of each series of the index page before it
//!   name      bytes shared with the name before in the page varint | length of the rest varint
//!             | rest
//! ```
//!
//! A whole name is the measurement, the number of labels (varint), name and value of each label,
//! and the field; each of these strings is its length (varint) and its bytes. Names that nobody
//! knows any more are empty.

use foliot_codec::varint::put_u64;
use foliot_index::Identity;

/// The label page that belongs to the open index page.
#[derive(Default)]
pub(super) struct LabelPage {
    /// The name of the series being written.
    name: Vec<u8>,
    /// The name before it in the page.
    before: Vec<u8>,
    sid_before: Option<u32>,
    page: Vec<u8>,
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_u64(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

impl LabelPage {
    /// What the series to be added next is called.
    pub(super) fn name(&mut self, identity: Option<&Identity>) {
        self.name.clear();
        let Some(Identity { measurement, field, labels, .. }) = identity else { return };
        put_text(&mut self.name, measurement);
        put_u64(&mut self.name, labels.len() as u64);
        for label in labels {
            put_text(&mut self.name, &label.name);
            put_text(&mut self.name, &label.value);
        }
        put_text(&mut self.name, field);
    }

    /// Adds the series, unless the page has it already.
    pub(super) fn add(&mut self, sid: u32) {
        if self.sid_before == Some(sid) {
            return;
        }
        let pairs = self.before.iter().zip(&self.name);
        let shared = pairs.take_while(|(before, byte)| before == byte).count();
        let rest = self.name.get(shared..).unwrap_or_default();
        put_u64(&mut self.page, shared as u64);
        put_u64(&mut self.page, rest.len() as u64);
        self.page.extend_from_slice(rest);
        self.before.clone_from(&self.name);
        self.sid_before = Some(sid);
    }

    /// The bytes of the page; begins a new one.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut out = Vec::with_capacity(4 + self.page.len());
        out.extend_from_slice(&(self.page.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.page);
        self.page.clear();
        self.before.clear();
        self.sid_before = None;
        out
    }
}
