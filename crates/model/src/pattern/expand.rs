//! What stands in the place of a match: texts with `$1`, `${1}` and `${name}`, as Go's
//! `Regexp.Expand` reads them.

use regex::Captures;

/// Adds a template to a text, with what groups found in the place of their names: `$$` is a dollar,
/// groups that found nothing, or are not there, are empty, and a dollar in front of no name stands
/// for itself.
pub fn expand(found: &Captures<'_>, template: &str, out: &mut String) {
    let mut rest = template;
    while let Some((plain, behind)) = rest.split_once('$') {
        out.push_str(plain);
        rest = behind;
        if let Some(behind) = rest.strip_prefix('$') {
            out.push('$');
            rest = behind;
        } else if let Some((name, behind)) = name(rest) {
            let group = match number(name) {
                Some(number) => found.get(number),
                None => found.name(name),
            };
            out.push_str(group.map_or("", |group| group.as_str()));
            rest = behind;
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
}

/// The name of a group behind a dollar, and what follows it: as many letters as there are, unless
/// it stands in braces.
fn name(text: &str) -> Option<(&str, &str)> {
    let braced = text.strip_prefix('{');
    let inner = braced.unwrap_or(text);
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let end = inner.find(|c| !is_letter(c)).unwrap_or(inner.len());
    let (name, behind) = inner.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
    match braced {
        Some(_) => behind.strip_prefix('}').map(|behind| (name, behind)),
        None => Some((name, behind)),
    }
}

/// The number of a group. With a zero before other digits it is a name, which no group has.
fn number(name: &str) -> Option<usize> {
    let is_number = name.bytes().all(|digit| digit.is_ascii_digit());
    let has_zeros = name.len() > 1 && name.starts_with('0');
    name.parse().ok().filter(|_| is_number && !has_zeros)
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;

    /// As `Regexp.ExpandString` of Go 1.26 answers.
    #[test]
    fn templates_are_read_as_in_go() {
        let pattern = Pattern::new("^(?P<first>a)(b)?(c)$").unwrap();
        for (template, wanted) in [
            ("$1-$2-$3", "a--c"),
            ("${first}${3}x", "acx"),
            ("$1x", ""),
            ("$first$", "a$"),
            ("$$1", "$1"),
            ("$9${none}", ""),
            ("$01${01}$00000000001", ""),
            ("${}-${1 }-${1", "${}-${1 }-${1"),
            ("$1é", ""),
            ("$é", ""),
            ("$-$ $1", "$-$ a"),
            ("$0", "ac"),
            ("$99999999999999999999", ""),
        ] {
            assert_eq!(pattern.replaced("ac", template).as_deref(), Some(wanted), "{template}");
        }
        assert_eq!(pattern.replaced("b", "$1"), None);
        let pattern = Pattern::new("a(.)").unwrap();
        assert_eq!(pattern.replaced_all("a1a2-", "<$1>"), "<1><2>-");
    }
}
