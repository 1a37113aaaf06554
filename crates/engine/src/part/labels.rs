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

use foliot_codec::varint::{get_u64, put_u64};
use foliot_index::Identity;
use foliot_model::{Label, Labels};
use std::sync::Arc;

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

/// Walks the names of a label page, without the length before it. The outer nothing means bytes
/// that cannot be read, the inner one a name that nobody knew.
#[derive(Default)]
pub(super) struct Names<'p> {
    rest: &'p [u8],
    name: Vec<u8>,
}

impl<'p> Names<'p> {
    pub(super) fn new(page: &'p [u8]) -> Self {
        Self { rest: page, name: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Option<Option<Identity>> {
        let shared = usize::try_from(get_u64(&mut self.rest).ok()?).ok()?;
        let len = usize::try_from(get_u64(&mut self.rest).ok()?).ok()?;
        let rest = self.rest.split_off(..len)?;
        if shared > self.name.len() {
            return None;
        }
        self.name.truncate(shared);
        self.name.extend_from_slice(rest);
        match self.name.is_empty() {
            true => Some(None),
            false => take_identity(&mut &*self.name).map(Some),
        }
    }
}

fn take_identity(rest: &mut &[u8]) -> Option<Identity> {
    let measurement = take_text(rest)?;
    let mut labels = Vec::new();
    for _ in 0..get_u64(rest).ok()? {
        labels.push(Label { name: take_text(rest)?, value: take_text(rest)? });
    }
    let field = take_text(rest)?;
    let labels = Labels::new(labels);
    rest.is_empty().then_some(Identity { measurement, field, labels, source: 0 })
}

fn take_text(rest: &mut &[u8]) -> Option<Arc<str>> {
    let len = usize::try_from(get_u64(rest).ok()?).ok()?;
    Some(std::str::from_utf8(rest.split_off(..len)?).ok()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rest: &mut &[u8]) -> String {
        let len = get_u64(rest).unwrap() as usize;
        String::from_utf8(rest.split_off(..len).unwrap().to_vec()).unwrap()
    }

    /// Reads a page as the format's page says.
    fn read(mut page: &[u8]) -> Vec<Vec<String>> {
        let len = u32::from_le_bytes(page.split_off(..4).unwrap().try_into().unwrap());
        assert_eq!(page.len(), len as usize);
        let (mut names, mut name) = (Vec::new(), Vec::new());
        while !page.is_empty() {
            let shared = get_u64(&mut page).unwrap() as usize;
            let rest = get_u64(&mut page).unwrap() as usize;
            name.truncate(shared);
            name.extend_from_slice(page.split_off(..rest).unwrap());
            let rest = &mut &name[..];
            if rest.is_empty() {
                names.push(Vec::new());
                continue;
            }
            let mut texts = vec![text(rest)];
            for _ in 0..get_u64(rest).unwrap() * 2 + 1 {
                texts.push(text(rest));
            }
            assert!(rest.is_empty());
            names.push(texts);
        }
        names
    }

    fn identity(field: &str, labels: &[(&str, &str)]) -> Identity {
        let labels = labels.iter().copied().collect();
        Identity { measurement: "cpu".into(), field: field.into(), labels, source: 0 }
    }

    #[test]
    fn names_are_read_back() {
        let mut page = LabelPage::default();
        let labels = [("host", "a"), ("größe", "\0")];
        page.name(Some(&identity("user", &labels)));
        page.add(3);
        page.add(3);
        page.name(Some(&identity("system", &labels)));
        page.add(4);
        page.name(None);
        page.add(7);
        let taken = page.take();
        page.name(Some(&identity("", &[])));
        page.add(7);
        let whole = ["cpu", "größe", "\0", "host", "a", "user"];
        let [.., last] = &read(&taken)[..] else { panic!() };
        assert!(last.is_empty());
        assert_eq!(read(&taken)[0], whole);
        assert_eq!(read(&taken)[1][5], "system");
        assert_eq!(read(&page.take()), [["cpu", ""]]);
        let mut names = Names::new(&taken[4..]);
        assert_eq!(names.next(), Some(Some(identity("user", &labels))));
        assert_eq!(names.next(), Some(Some(identity("system", &labels))));
        assert_eq!(names.next(), Some(None));
        assert_eq!(names.next(), None);
        // No page that was cut short or whose bytes changed is read as anything but names.
        for cut in 0..taken.len() - 4 {
            let mut names = Names::new(&taken[4..4 + cut]);
            while names.next().is_some() {}
        }
    }
}
