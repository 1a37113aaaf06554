//! Who may do what: users with passwords, tokens, their rights, and the one check before every
//! door.
//!
//! A door turns what a client shows into [`Credentials`] and asks the [`Gate`] who that is. The
//! answer is a [`Principal`], which says whether it may do what the request [`Need`]s.
//!
//! What the room does not know: sockets, routes, and the words in which a door refuses.

mod credentials;
mod fact;
mod gate;
mod networks;
mod passwords;
mod principal;
mod rights;
mod throttle;
mod tokens;
mod users;

pub use credentials::Credentials;
pub use gate::{Figures, Gate, Refusal};
pub use networks::{Network, Networks};
pub use principal::{Measurements, Need, Principal};
pub use rights::{Access, Grant, Rights};
pub use tokens::{NewToken, Token};
pub use users::{Refused, User};
