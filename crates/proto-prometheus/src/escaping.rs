//! Names for clients that know letters, digits and underscores alone, as Prometheus 3 escapes them
//! (`model/metric.go` of its common library).

use std::borrow::Cow;

/// How names are written that hold other characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escaping {
    /// As they are.
    AllowUtf8,
    /// Each other character as an underscore.
    Underscores,
    /// Dots as `_dot_`, underscores and each other character as two underscores.
    Dots,
    /// Behind `U__`, each other character by its number.
    Values,
}

const NAMES: [(&str, Escaping); 4] = [
    ("allow-utf-8", Escaping::AllowUtf8),
    ("underscores", Escaping::Underscores),
    ("dots", Escaping::Dots),
    ("values", Escaping::Values),
];

/// The kind of text that is negotiated, and its version.
const TEXT: &str = "text/plain";
const TEXT_VERSION: &str = "0.0.4";

impl Escaping {
    /// What a header `Accept` wants of a text: what its kinds say up to the first that is a text,
    /// by their weights; underscores where they say nothing.
    pub fn of_accept(accept: &str) -> Self {
        let mut kinds: Vec<(f64, &str)> = accept.split(',').map(|it| (weight(it), it)).collect();
        kinds.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let mut escaping = Self::Underscores;
        for (_, kind) in kinds {
            let said = parameter(kind, "escaping");
            let known = NAMES.iter().find(|(name, _)| Some(*name) == said);
            escaping = known.map_or(escaping, |(_, known)| *known);
            let is_text = kind.split(';').next().is_some_and(|kind| kind.trim() == TEXT);
            if is_text && matches!(parameter(kind, "version"), None | Some(TEXT_VERSION)) {
                break;
            }
        }
        escaping
    }

    /// A name as it is written.
    pub fn escape(self, name: &str) -> Cow<'_, str> {
        let is_known = |(at, c): (usize, char)| {
            c.is_ascii_alphabetic() || matches!(c, '_' | ':') || at > 0 && c.is_ascii_digit()
        };
        let is_plain = !name.is_empty() && name.char_indices().all(is_known);
        if self == Self::AllowUtf8 || name.is_empty() || is_plain && self != Self::Dots {
            return Cow::Borrowed(name);
        }
        let mut out = String::from(if self == Self::Values { "U__" } else { "" });
        for (at, c) in name.char_indices() {
            match self {
                Self::Dots if c == '.' => out.push_str("_dot_"),
                Self::Dots | Self::Values if c == '_' => out.push_str("__"),
                _ if is_known((at, c)) => out.push(c),
                Self::Dots => out.push_str("__"),
                Self::Values => out.push_str(&format!("_{:x}_", u32::from(c))),
                Self::Underscores | Self::AllowUtf8 => out.push('_'),
            }
        }
        Cow::Owned(out)
    }
}

/// How much a kind is wanted.
fn weight(kind: &str) -> f64 {
    parameter(kind, "q").and_then(|text| text.parse().ok()).unwrap_or(1.0)
}

fn parameter<'a>(kind: &'a str, name: &str) -> Option<&'a str> {
    let pairs = kind.split(';').skip(1).filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(key, _)| key.trim() == name);
    named.next().map(|(_, value)| value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the tests of Prometheus' library have it.
    #[test]
    fn names_are_escaped_as_in_prometheus() {
        for (name, underscores, dots, values) in [
            (
                "no:escaping_required",
                "no:escaping_required",
                "no:escaping__required",
                "no:escaping_required",
            ),
            (
                "mysystem.prod.west.cpu.load",
                "mysystem_prod_west_cpu_load",
                "mysystem_dot_prod_dot_west_dot_cpu_dot_load",
                "U__mysystem_2e_prod_2e_west_2e_cpu_2e_load",
            ),
            ("http.status:sum", "http_status:sum", "http_dot_status:sum", "U__http_2e_status:sum"),
            ("label with 😱", "label_with__", "label__with____", "U__label_20_with_20__1f631_"),
            ("1a_b", "_a_b", "__a__b", "U___31_a__b"),
            ("", "", "", ""),
        ] {
            assert_eq!(Escaping::Underscores.escape(name), underscores);
            assert_eq!(Escaping::Dots.escape(name), dots);
            assert_eq!(Escaping::Values.escape(name), values);
            assert_eq!(Escaping::AllowUtf8.escape(name), name);
        }
    }

    #[test]
    fn the_text_that_is_wanted_most_says_how() {
        for (accept, name) in [
            ("", "underscores"),
            ("*/*", "underscores"),
            ("text/plain;version=0.0.4;escaping=allow-utf-8", "allow-utf-8"),
            (
                "text/plain;version=0.0.4;q=0.5;escaping=dots,text/plain; escaping=values;q=0.6",
                "values",
            ),
            ("text/plain;escaping=strange", "underscores"),
            // Prometheus 3 asks so.
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;\
              version=0.0.4;q=0.3,*/*;q=0.2",
                "allow-utf-8",
            ),
            ("text/plain;q=0.9,*/*;escaping=dots;q=0.1", "underscores"),
        ] {
            let known = NAMES.iter().find(|(known, _)| *known == name).unwrap();
            assert_eq!(Escaping::of_accept(accept), known.1, "{accept}");
        }
    }
}
