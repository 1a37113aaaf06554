//! Lines: where one ends when it could not be read.

/// Whether a line, given without its end, is a whole one: no string in it is open.
pub fn is_whole_line(line: &[u8]) -> bool {
    let mut ended = line.to_vec();
    ended.push(b'\n');
    end(&ended, 0) == line.len()
}

/// Finds the end of the line that begins at `start`, as InfluxDB does: a newline counts unless a
/// backslash or an open quote precedes it, and a quote counts behind an `=` of the fields. Returns
/// the position of the newline, or of the end of all bytes.
pub(crate) fn end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut is_quoted = false;
    let mut is_in_fields = false;
    let mut equals = 0usize;
    let mut commas = 0usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' if !is_quoted => return at,
            b' ' => is_in_fields = true,
            b'=' if is_in_fields && !is_quoted => equals += 1,
            b',' if is_in_fields && !is_quoted => commas += 1,
            b'"' if is_in_fields && equals > commas => is_quoted = !is_quoted,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newlines_in_strings_and_behind_backslashes_do_not_end_a_line() {
        for (text, line) in [
            ("a b=1\nc", "a b=1"),
            ("a b=\"x\ny\"\nc", "a b=\"x\ny\""),
            ("a b=\"x\\\"\ny\"\nc", "a b=\"x\\\"\ny\""),
            ("a\\\nb c=1\nd", "a\\\nb c=1"),
            // A quote in the key, in a field's name or in a tag does not open a string.
            ("a\"b c=1\nd", "a\"b c=1"),
            ("a b\"=1\nd", "a b\"=1"),
            ("a b=1,c\"=1\nd", "a b=1,c\"=1"),
            ("a b=\"open\nd", "a b=\"open\nd"),
            ("a b=1\\", "a b=1\\"),
            ("", ""),
        ] {
            assert_eq!(&text[..end(text.as_bytes(), 0)], line);
        }
    }
}
