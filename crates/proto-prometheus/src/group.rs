//! Groups of the Pushgateway: labels in a path that all pushed series have.
//!
//! `/job/backup/instance/web1`, or `/job@base64/YmFja3Vw` for values that hold a slash or are empty
//! (<https://github.com/prometheus/pushgateway#url>). They go before labels of the same name in what
//! is pushed.

use crate::samples::pack_labels;
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::DecodePaddingMode::Indifferent;
use base64::engine::general_purpose::{GeneralPurpose, PAD};

/// Bytes that the labels of a group take at most.
const GROUP_BYTES_MAX: usize = 4 << 10;

/// What stands behind a name whose value is coded.
const CODED: &str = "@base64";

/// Labels of a group; none where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    names: Vec<String>,
    packed: Vec<u8>,
}

impl Group {
    /// Reads the labels of a path, the first of which is `job`, from its parts.
    ///
    /// # Errors
    /// Why they are none.
    pub fn of_path<'p>(parts: impl IntoIterator<Item = &'p str>) -> Result<Self, String> {
        let (mut parts, mut labels) = (parts.into_iter(), Vec::new());
        while let Some(name) = parts.next() {
            let Some(value) = parts.next() else {
                return Err(format!("label {name:?} of the path has no value"));
            };
            let (name, value) = match name.strip_suffix(CODED) {
                Some(name) => (name, decoded(value)?),
                None => (name, value.to_owned()),
            };
            if name.is_empty() || name == "__name__" {
                return Err(format!("{name:?} is no label of a group"));
            }
            if labels.iter().any(|(known, _)| *known == name) {
                return Err(format!("label {name:?} stands twice in the path"));
            }
            labels.push((name, value));
        }
        match labels.first() {
            Some((name, job)) if *name == "job" && !job.is_empty() => {}
            _ => return Err("the path of a group begins with /job/ and its value".to_owned()),
        }
        let packed = pack_labels(labels.iter().map(|(name, value)| (*name, &**value)));
        if packed.len() > GROUP_BYTES_MAX {
            return Err(format!("the labels of the path take more than {GROUP_BYTES_MAX} bytes"));
        }
        Ok(Self { names: labels.iter().map(|(name, _)| (*name).to_owned()).collect(), packed })
    }

    /// Whether it has a label of this name.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.names.iter().any(|known| known.as_bytes() == name)
    }

    /// Its labels, packed.
    pub(crate) fn packed(&self) -> &[u8] {
        &self.packed
    }
}

/// A value that is coded; a single `=` is the empty one.
fn decoded(value: &str) -> Result<String, String> {
    let options = PAD.with_decode_padding_mode(Indifferent);
    let coded = if value == "=" { "" } else { value };
    let bytes = GeneralPurpose::new(&URL_SAFE, options).decode(coded);
    let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| format!("{value:?} is no text in base64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Result<String, String> {
        Group::of_path(path.split('/')).map(|group| crate::shown_key(group.packed()))
    }

    #[test]
    fn paths_are_those_of_the_pushgateway() {
        let wanted = r#"{job="a",instance="b"}"#;
        assert_eq!(of("job/a/instance/b").unwrap(), wanted);
        let wanted = r#"{job="directory",path="/var/tmp",empty=""}"#;
        for path in ["L3Zhci90bXA=", "L3Zhci90bXA"] {
            let path = format!("job/directory/path@base64/{path}/empty@base64/=");
            assert_eq!(of(&path).unwrap(), wanted);
        }
        assert_eq!(of("job@base64/YQ").unwrap(), r#"{job="a"}"#);
    }

    #[test]
    fn bad_paths_are_told() {
        for (path, word) in [
            ("", "has no value"),
            ("job", "has no value"),
            ("job/", "begins with /job/"),
            ("instance/a", "begins with /job/"),
            ("job/a/b", "\"b\" of the path has no value"),
            ("job/a//b", "is no label"),
            ("job/a/__name__/b", "is no label"),
            ("job/a/job/b", "stands twice"),
            ("job/a/b@base64/!", "no text in base64"),
            ("job/a/b@base64/_w", "no text in base64"),
        ] {
            let error = of(path).unwrap_err();
            assert!(error.contains(word), "{path}: {error}");
        }
        let long = of(&format!("job/{}", "a".repeat(GROUP_BYTES_MAX)));
        assert!(long.unwrap_err().contains("more than 4096 bytes"));
    }
}
