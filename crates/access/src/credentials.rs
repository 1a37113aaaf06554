//! Credentials: what a client shows, in the manners that the doors share.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, PAD};

/// Base64 as clients write it, with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Characters of a user's name that a log holds.
const NAME_CHARS_MAX: usize = 64;

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
            let decoded = String::from_utf8(BASE64.decode(text).ok()?).ok()?;
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

    /// Who is meant, for a log: the beginning of a user's name, and of a token nothing that it
    /// holds.
    pub fn told(&self) -> String {
        match self {
            Self::Password { user, .. } if !user.starts_with(crate::tokens::PREFIX) => {
                user.chars().take(NAME_CHARS_MAX).collect()
            }
            Self::Password { .. } | Self::Token(_) => "a token".to_owned(),
        }
    }

    /// Whether a password is shown without saying whose it is.
    pub fn is_without_name(&self) -> bool {
        matches!(self, Self::Password { user, .. } if user.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
