//! Credentials: what a client shows, in the manners that the doors share.

/// What a client shows to say who it is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Credentials {
    /// A user's name and password.
    Password {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// A token.
    Token(String),
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Password { .. } => "Password(..)",
            Self::Token(_) => "Token(..)",
        })
    }
}

impl Credentials {
    /// A name and a password, which may be a token: clients that know no tokens show them so.
    pub fn of_pair(user: &str, password: &str) -> Self {
        match password.starts_with(crate::tokens::PREFIX) {
            true => Self::Token(password.to_owned()),
            false => Self::Password { user: user.to_owned(), password: password.to_owned() },
        }
    }

    /// The value of the header `Authorization`: `Basic`, `Bearer`, or InfluxDB's `Token`, behind
    /// which a token or `user:password` stands. Nothing when it is none of these.
    pub fn of_header(text: &str) -> Option<Self> {
        let (kind, text) = text.split_once(' ')?;
        let text = text.trim();
        let is = |name: &str| kind.eq_ignore_ascii_case(name);
        if is("basic") {
            let decoded = String::from_utf8(base64(text)?).ok()?;
            let (user, password) = decoded.split_once(':')?;
            return Some(Self::of_pair(user, password));
        }
        if is("bearer") {
            return Some(Self::Token(text.to_owned()));
        }
        if is("token") {
            return Some(match text.split_once(':') {
                Some((user, password)) => Self::of_pair(user, password),
                None => Self::Token(text.to_owned()),
            });
        }
        None
    }

    /// Whether a password is shown without saying whose it is.
    pub fn is_without_name(&self) -> bool {
        matches!(self, Self::Password { user, .. } if user.is_empty())
    }
}

/// Bytes written in base64 (RFC 4648, section 4).
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for c in text.trim_end_matches('=').bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        // RFC 4648, section 10.
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(base64(text).unwrap(), bytes.as_bytes(), "{text}");
        }
        assert_eq!(base64("Zm9v!"), None);
    }

    #[test]
    fn headers_are_read_in_all_manners() {
        let pair = |user: &str, password: &str| Some(Credentials::of_pair(user, password));
        let token = |text: &str| Some(Credentials::Token(text.to_owned()));
        assert_eq!(Credentials::of_header("Basic dTpnZWhlaW0="), pair("u", "geheim"));
        assert_eq!(Credentials::of_header("basic dTpnZWhlaW0="), pair("u", "geheim"));
        assert_eq!(Credentials::of_header("Token u:a:b"), pair("u", "a:b"));
        assert_eq!(Credentials::of_header("Token foliot_1"), token("foliot_1"));
        assert_eq!(Credentials::of_header("Bearer foliot_1"), token("foliot_1"));
        assert_eq!(Credentials::of_pair("x", "foliot_1"), Credentials::Token("foliot_1".into()));
        for bad in ["", "Basic", "Basic !", "Basic Zg==", "Digest x"] {
            assert_eq!(Credentials::of_header(bad), None, "{bad:?}");
        }
        assert!(!format!("{:?}", pair("u", "geheim")).contains("geheim"));
    }
}
