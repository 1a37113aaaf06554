//! Sniffing: which protocol a connection to the one port speaks, from its first bytes.
//!
//! | first bytes | protocol |
//! |---|---|
//! | a method of HTTP, a space, then `/` or `*` | HTTP |
//! | a word in capitals, `/` or `*`, and at the line's end `HTTP/1.0` or `HTTP/1.1` | HTTP |
//! | a word in capitals, `/` or `*`, and a kilobyte without another blank | HTTP |
//! | 0x16 | TLS, which is refused with words where there is no certificate |
//! | 0x00 | Graphite's pickle: a length of less than 16 MiB |
//! | a telnet verb, then a space or the line's end | telnet |
//! | a whole line without `=` | telnet: no Influx line lacks it, and telnet can say what is wrong |
//! | anything else | Influx lines |

/// What a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.
    Http,
    /// TLS.
    Tls,
    /// Lines of OpenTSDB's telnet commands.
    Telnet,
    /// Lines of InfluxDB's line protocol.
    Lines,
    /// Messages of Graphite's pickle.
    Pickle,
}

/// Bytes after which a decision falls even when no line has ended: no method or verb is longer, and
/// an Influx line may be very long.
pub(crate) const SNIFF_BYTES_MAX: usize = 1024;

const METHODS: [&[u8]; 7] =
    [b"GET ", b"POST ", b"PUT ", b"DELETE ", b"HEAD ", b"OPTIONS ", b"PATCH "];

/// Longest method that is told from other words in capitals.
const METHOD_BYTES_MAX: usize = 24;

const VERBS: [&[u8]; 11] = [
    b"put",
    b"auth",
    b"rollup",
    b"histogram",
    b"version",
    b"stats",
    b"status",
    b"help",
    b"exit",
    b"dropcaches",
    b"diediedie",
];

/// Decides from the first bytes, or asks for more with nothing. `ended` says that no more will
/// come.
pub(crate) fn sniff(bytes: &[u8], ended: bool) -> Option<Protocol> {
    if bytes.first() == Some(&0) {
        return Some(Protocol::Pickle);
    }
    let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
    let bytes = start.and_then(|start| bytes.get(start..)).unwrap_or_default();
    let &first = bytes.first()?;
    if first == 0x16 {
        return Some(Protocol::Tls);
    }
    let mut undecided = false;
    for method in METHODS {
        match bytes.strip_prefix(method).map(<[u8]>::first) {
            Some(Some(b'/' | b'*')) => return Some(Protocol::Http),
            Some(Some(_)) => {}
            Some(None) => undecided = true,
            None => undecided |= method.starts_with(bytes),
        }
    }
    for verb in VERBS {
        match bytes.strip_prefix(verb).map(<[u8]>::first) {
            Some(Some(b' ' | b'\r' | b'\n')) => return Some(Protocol::Telnet),
            Some(Some(_)) => {}
            Some(None) => undecided = true,
            None => undecided |= verb.starts_with(bytes),
        }
    }
    let line_end = bytes.iter().position(|&byte| byte == b'\n');
    let line = line_end.and_then(|end| bytes.get(..end)).unwrap_or(bytes);
    let is_complete = line_end.is_some() || ended || bytes.len() >= SNIFF_BYTES_MAX;
    // By a method that is none of those above.
    if begins_as_a_request(line) {
        match line.trim_ascii_end() {
            [.., b' ', b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0' | b'1']
                if line_end.is_some() =>
            {
                return Some(Protocol::Http);
            }
            // Only the line's end tells, whatever stands before it.
            _ if !is_complete => return None,
            // It lies behind a long address: rows of that length have blanks.
            _ if line_end.is_none() && !ended && has_one_blank(line) => {
                return Some(Protocol::Http);
            }
            _ => {}
        }
    }
    if line.contains(&b'=') || first == b'#' {
        // Only a line that can still become a method or verb waits; none of them holds these.
        return Some(Protocol::Lines);
    }
    match is_complete {
        true => Some(Protocol::Telnet),
        false => {
            debug_assert!(undecided || bytes.len() < SNIFF_BYTES_MAX);
            None
        }
    }
}

/// Whether a line begins as that of a request does, by whatever method.
pub(crate) fn begins_as_a_request(line: &[u8]) -> bool {
    let letters = line.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let rest = line.get(letters..).unwrap_or_default();
    (1..=METHOD_BYTES_MAX).contains(&letters) && matches!(rest, [b' ', b'/' | b'*', ..])
}

fn has_one_blank(line: &[u8]) -> bool {
    line.iter().filter(|byte| **byte == b' ').count() == 1
}

#[cfg(test)]
mod tests {
    use super::Protocol::{Http, Lines, Pickle, Telnet, Tls};
    use super::*;

    #[test]
    fn first_bytes_decide() {
        let cases: [(&str, Option<Protocol>); 46] = [
            ("GET / HTTP/1.1\r\n", Some(Http)),
            ("POST /api/put HTTP/1.1\r\n", Some(Http)),
            ("OPTIONS * HTTP/1.1\r\n", Some(Http)),
            ("HEAD /", Some(Http)),
            ("PUT /x", Some(Http)),
            ("DELETE /x", Some(Http)),
            ("TRACE / HTTP/1.1\r\n", Some(Http)),
            ("FOO /api/query?start=1h-ago HTTP/1.0\n", Some(Http)),
            ("SEARCH * HTTP/1.1\r\n", Some(Http)),
            ("FOO /api/query?start=1h-ago", None),
            ("TRACE / HTTP/1.1", None),
            ("FOO /x=1\n", Some(Lines)),
            ("FOO /x=1 HTTP/2\n", Some(Lines)),
            ("FOO /\n", Some(Telnet)),
            ("G", None),
            ("GET", None),
            ("GET ", None),
            ("PUT m 1 2 h=a\n", Some(Lines)),
            ("GET field=1\n", Some(Lines)),
            ("GETX,h=a v=1\n", Some(Lines)),
            ("GET x\n", Some(Telnet)),
            ("\u{16}\u{3}\u{1}", Some(Tls)),
            ("\0", Some(Pickle)),
            ("\0\0\u{1}\n]", Some(Pickle)),
            ("put m 1 2 h=a\n", Some(Telnet)),
            ("put ", Some(Telnet)),
            ("pu", None),
            ("put", None),
            ("put\n", Some(Telnet)),
            ("version\n", Some(Telnet)),
            ("version\r\n", Some(Telnet)),
            ("versions,h=a v=1\n", Some(Lines)),
            ("stats", None),
            ("status\n", Some(Telnet)),
            ("help\n", Some(Telnet)),
            ("exit\n", Some(Telnet)),
            ("diediedie\n", Some(Telnet)),
            ("foo\n", Some(Telnet)),
            ("foo", None),
            ("cpu,host=a usage=1 1700000000\n", Some(Lines)),
            ("cpu,host", None),
            ("cpu,host=", Some(Lines)),
            ("# comment\n", Some(Lines)),
            ("\n\r\nput m 1 2 h=a\n", Some(Telnet)),
            ("\n", None),
            ("", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(sniff(bytes.as_bytes(), false), expected, "{bytes:?}");
        }
        assert_eq!(sniff(b"foo", true), Some(Telnet));
        assert_eq!(sniff(b"version", true), Some(Telnet));
        assert_eq!(sniff(b"", true), None);
        assert_eq!(sniff(&[b'x'; SNIFF_BYTES_MAX], false), Some(Telnet));
        let long = |begin: &str, end: &str| {
            let text = format!("{begin}{}{end}", "x".repeat(SNIFF_BYTES_MAX));
            sniff(text.as_bytes(), false)
        };
        assert_eq!(long("BREW /pot?beans=", ""), Some(Http), "its end is far");
        assert_eq!(long("TRACE /query?q=", " HTTP/1.1\r\n"), Some(Http));
        assert_eq!(long("FOO /x=1,y=2 17", ""), Some(Lines));
        assert_eq!(long("FOO /x=1,y=", "\n"), Some(Lines));
    }

    #[test]
    fn more_bytes_never_change_a_decision() {
        let texts = [
            "GET /api HTTP/1.1\r\n",
            "put m 1 2 h=a\n",
            "version\n",
            "puts,h=a v=1\n",
            "cpu,h=a v=1\n",
            "foo bar\nput a=b\n",
            "TRACE /a=b HTTP/1.1\r\nx=y\n",
            "TRACE /a=b HTTP\r\nx=y\n",
        ];
        for text in texts {
            let decisions: Vec<_> =
                (0..text.len()).filter_map(|end| sniff(&text.as_bytes()[..end], false)).collect();
            assert!(decisions.windows(2).all(|pair| pair[0] == pair[1]), "{text:?}");
        }
    }
}
