//! The first line of a request, with the letters of its address that hyper takes for no address.
//!
//! `curl -g 'http://…/federate?match[]=up{job="node"}'` sends quotes as they are, and servers
//! written in Go read them. RFC 3986 has them percent-encoded, and so has what hyper gets to see.

use crate::sniff::begins_as_a_request;

/// Letters that stand for themselves in an address, whatever RFC 3986 says.
const ODD: [u8; 4] = [b'"', b'<', b'>', b'`'];

/// Where the bytes of a connection are.
#[derive(Debug, Default)]
pub(crate) struct RequestLine {
    /// Whether the next byte belongs to a request's first line.
    is_open: bool,
}

impl RequestLine {
    /// Looks at bytes behind those that were looked at before; `is_first` where a request is
    /// awaited. Returns what they are with each odd letter of the first line percent-encoded;
    /// nothing where there is none.
    ///
    /// Bytes that follow a request before it is answered are taken as they are: where one of these
    /// requests begins is hyper's to know.
    pub(crate) fn straighten(&mut self, bytes: &[u8], is_first: bool) -> Option<Vec<u8>> {
        if is_first {
            self.is_open = begins_as_a_request(bytes);
        }
        if !self.is_open {
            return None;
        }
        let end = memchr::memchr(b'\n', bytes);
        self.is_open = end.is_none();
        let (line, rest) = bytes.split_at_checked(end.unwrap_or(bytes.len()))?;
        if !line.iter().any(|letter| ODD.contains(letter)) {
            return None;
        }
        let mut straight = Vec::with_capacity(bytes.len() + bytes.len() / 8);
        for letter in line {
            match ODD.contains(letter) {
                true => straight.extend_from_slice(format!("%{letter:02X}").as_bytes()),
                false => straight.push(*letter),
            }
        }
        straight.extend_from_slice(rest);
        Some(straight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn straight(pieces: &[&str]) -> String {
        let mut line = RequestLine::default();
        let read = |(at, piece): (usize, &&str)| {
            let straight = line.straighten(piece.as_bytes(), at == 0);
            straight.map_or_else(|| piece.to_string(), |bytes| String::from_utf8(bytes).unwrap())
        };
        pieces.iter().enumerate().map(read).collect()
    }

    #[test]
    fn odd_letters_of_the_first_line_are_encoded() {
        let head = "GET /a`b?q=up{job=\"x\"}<1>2&é HTTP/1.1\r\nE: \"<tag>\"\r\n\r\n{\"a\": 1}";
        let wanted = head.replacen("a`b", "a%60b", 1).replacen("\"x\"", "%22x%22", 1);
        let wanted = wanted.replacen("<1>", "%3C1%3E", 1);
        for cut in [4, 5, 12, 20, 26, 40, 60].map(|cut| head.floor_char_boundary(cut)) {
            let (first, second) = head.split_at(cut);
            let wanted = if cut < 5 { head } else { &wanted };
            assert_eq!(straight(&[first, second]), wanted, "cut at {cut}");
        }
    }

    #[test]
    fn what_begins_as_no_request_is_left_alone() {
        for text in ["ag: \"x\"\r\nGET /\"", "{\"a\": 1}\n", "GET \"/\"", "\r\nGET /\" HTTP/1.1"] {
            assert_eq!(straight(&[text, "\"\n"]), format!("{text}\"\n"));
        }
    }
}
