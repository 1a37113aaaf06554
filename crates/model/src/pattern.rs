//! Patterns: regular expressions that a question or a rule brings along.
//!
//! Matching takes time linear in the text, whatever the expression. What an expression takes to be
//! compiled and held is bounded, by itself and together with all others of the process: their
//! number is the client's choice.

mod dialect;
mod expand;
mod fault;

use crate::matcher::MatcherError;
use dialect::Dialect;
pub use expand::expand;
use regex::{Captures, Regex, RegexBuilder};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// What a pattern may take compiled, and as much again while it matches: most need no more than the
/// first, none may have more than the last.
const SIZES: [usize; 3] = [16 << 10, 128 << 10, 1 << 20];
/// What all patterns that are held at a time may take together.
const HELD_BYTES_MAX: usize = 64 << 20;

/// What may be taken while groups are found: each state has a place of each group.
const GROUPS_BYTES_MAX: usize = 8 << 20;

/// What a pattern may weigh, by what it takes to be compiled: about a second at worst.
const WEIGHT_MAX: usize = 256 << 10;
/// What all patterns of one request may weigh, see [`Pattern::weighed`].
const WEIGHT_TOGETHER_MAX: usize = 4 * WEIGHT_MAX;

/// How often a pattern was refused for its weight, and for what it or all of them would take.
static REFUSED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// The patterns that were compiled for the work of one request.
#[derive(Default)]
struct Together {
    weight: usize,
    /// Those that are still held, so that one that stands at many places is compiled once.
    known: HashMap<(String, Dialect), Weak<Compiled>>,
}

thread_local! {
    /// Nothing where the work at hand is not that of a request.
    static TOGETHER: RefCell<Option<Together>> = const { RefCell::new(None) };
}

/// What all patterns that are held now may take.
static HELD_BYTES: AtomicUsize = AtomicUsize::new(0);

/// A regular expression that is ready to be matched, found anywhere in a text.
///
/// Its syntax is that of [Go and RE2](https://pkg.go.dev/regexp/syntax), or
/// [Java's](https://docs.oracle.com/javase/8/docs/api/java/util/regex/Pattern.html) without what
/// looks around or back.
#[derive(Clone)]
pub struct Pattern(Arc<Compiled>);

struct Compiled {
    written: String,
    dialect: Dialect,
    regex: Regex,
    held: Held,
}

/// A share of what all patterns may take.
struct Held(usize);

impl Held {
    fn take(bytes: usize) -> Option<Self> {
        let before = HELD_BYTES.fetch_add(bytes, Ordering::Relaxed);
        // Gives it back when it is dropped here.
        Some(Self(bytes)).filter(|_| before + bytes <= HELD_BYTES_MAX)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD_BYTES.fetch_sub(self.0, Ordering::Relaxed);
    }
}

impl Pattern {
    /// Compiles an expression of Go.
    ///
    /// # Errors
    /// When it is too long, does not parse, compiles to more than 1 MiB, or when all patterns that
    /// are in use take too much already.
    pub fn new(written: &str) -> Result<Self, MatcherError> {
        Self::of_dialect(written, Dialect::Go)
    }

    /// Compiles an expression of Java.
    ///
    /// # Errors
    /// As [`Pattern::new`].
    pub fn of_java(written: &str) -> Result<Self, MatcherError> {
        Self::of_dialect(written, Dialect::Java)
    }

    /// The same, where what its groups find is wanted too.
    ///
    /// # Errors
    /// When it has too many groups for its size.
    pub fn for_groups(self) -> Result<Self, MatcherError> {
        let groups = self.0.regex.captures_len();
        let takes = groups.saturating_mul(self.0.held.0 / 2);
        if takes <= GROUPS_BYTES_MAX {
            return Ok(self);
        }
        let [_, too_large] = &REFUSED;
        too_large.fetch_add(1, Ordering::Relaxed);
        Err(MatcherError(format!(
            "the regular expression has {groups} groups, which is too many for its size: matching \
             may take {takes} bytes, and {GROUPS_BYTES_MAX} at most"
        )))
    }

    fn of_dialect(written: &str, dialect: Dialect) -> Result<Self, MatcherError> {
        if let Some(known) = known(written, dialect) {
            return Ok(Self(known));
        }
        let [too_heavy, too_large] = &REFUSED;
        if let Err(error) = weigh(written) {
            too_heavy.fetch_add(1, Ordering::Relaxed);
            return Err(error);
        }
        let expression = dialect::translated(written, dialect);
        let expression = expression.map_err(|fault| MatcherError(fault.to_string()))?;
        let mut result = Err(MatcherError("invalid regular expression".to_owned()));
        // A long one is not tried at a size that it hardly fits.
        for bytes in SIZES.into_iter().filter(|size| expression.len() < *size) {
            let Some(held) = Held::take(2 * bytes) else {
                too_large.fetch_add(1, Ordering::Relaxed);
                return Err(MatcherError(
                    "the regular expressions in use take too much memory: try again later, or \
                     with fewer"
                        .to_owned(),
                ));
            };
            let built =
                RegexBuilder::new(&expression).size_limit(bytes).dfa_size_limit(bytes).build();
            let is_too_large = matches!(built, Err(regex::Error::CompiledTooBig(_)));
            let invalid = |error: regex::Error| {
                let fault = fault::sentence(&expression).unwrap_or_else(|| error.to_string());
                MatcherError(format!("invalid regular expression: {fault}"))
            };
            result = built
                .map(|regex| {
                    let written = written.to_owned();
                    Self(Arc::new(Compiled { written, dialect, regex, held }))
                })
                .map_err(invalid);
            if !is_too_large {
                return result.inspect(Self::note);
            }
        }
        too_large.fetch_add(1, Ordering::Relaxed);
        result
    }

    /// Why a text is no expression of Go, as Go says it; nothing of one that can be read, or whose
    /// fault only shows when it is compiled.
    pub fn fault(written: &str) -> Option<String> {
        dialect::translated(written, Dialect::Go).err().map(|fault| fault.to_string())
    }

    /// An expression of Go in the syntax of the library, for who compiles it by bounds of its own.
    ///
    /// # Errors
    /// Why it is none, as Go says it.
    pub fn in_syntax_of_library(written: &str) -> Result<String, String> {
        dialect::translated(written, Dialect::Go).map_err(|fault| fault.to_string())
    }

    /// Does the work of one request on this thread. Together the patterns that it compiles may
    /// weigh so much, however many there are.
    pub fn weighed<T>(work: impl FnOnce() -> T) -> T {
        /// Goes back to the work around, also when this work panics.
        struct Around(Option<Together>);
        impl Drop for Around {
            fn drop(&mut self) {
                TOGETHER.set(self.0.take());
            }
        }
        let _around = Around(TOGETHER.replace(Some(Together::default())));
        work()
    }

    /// Has it found again for the work at hand.
    fn note(&self) {
        TOGETHER.with_borrow_mut(|together| {
            if let Some(together) = together {
                let written = (self.as_str().to_owned(), self.0.dialect);
                together.known.insert(written, Arc::downgrade(&self.0));
            }
        });
    }

    /// How often a pattern was refused for its weight, and for what it or all of them would take.
    pub fn refused() -> [u64; 2] {
        REFUSED.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.0.written
    }

    /// The expression as it is matched, in the syntax of the library.
    pub(crate) fn expression(&self) -> &str {
        self.0.regex.as_str()
    }

    /// Whether it is found in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.regex.is_match(text)
    }

    /// The library's form of it, for who wants more than to know whether it is found.
    pub fn regex(&self) -> &Regex {
        &self.0.regex
    }

    /// What a template says of the first place where it is found: see [`expand`].
    pub fn replaced(&self, text: &str, template: &str) -> Option<String> {
        let found = self.0.regex.captures(text)?;
        let mut out = String::new();
        expand(&found, template, &mut out);
        Some(out)
    }

    /// The text with what a template says in each place where it is found.
    pub fn replaced_all(&self, text: &str, template: &str) -> String {
        let said = |found: &Captures<'_>| {
            let mut out = String::new();
            expand(found, template, &mut out);
            out
        };
        self.0.regex.replace_all(text, said).into_owned()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{self}/")
    }
}

/// The same expression, if it was compiled for the work at hand and is held yet.
fn known(written: &str, dialect: Dialect) -> Option<Arc<Compiled>> {
    let written = (written.to_owned(), dialect);
    TOGETHER.with_borrow(|together| together.as_ref()?.known.get(&written)?.upgrade())
}

/// Refuses an expression that takes too much to be compiled, by itself or with those before it.
fn weigh(written: &str) -> Result<(), MatcherError> {
    const OF_WHAT: &str =
        "(its bytes, and more for repetitions, for classes of Unicode and for any case)";
    let weight = weight(written);
    if weight > WEIGHT_MAX {
        return Err(MatcherError(format!(
            "the regular expression is too long: it weighs {weight}, and may weigh {WEIGHT_MAX} \
             {OF_WHAT}"
        )));
    }
    let together = TOGETHER.with_borrow_mut(|together| {
        together.as_mut().map_or(0, |together| {
            together.weight += weight;
            together.weight
        })
    });
    match together > WEIGHT_TOGETHER_MAX {
        false => Ok(()),
        true => Err(MatcherError(format!(
            "the regular expressions of the request are too long: they weigh {together} together, \
             and may weigh {WEIGHT_TOGETHER_MAX} {OF_WHAT}"
        ))),
    }
}

/// What an expression takes to be compiled, in units of some microseconds, as measured: a byte is
/// one. Ranges and classes of letters in any case are looked up one by one.
fn weight(written: &str) -> usize {
    const REPETITION: usize = 32;
    const CLASS: usize = 32;
    const CLASS_OF_ANY_CASE: usize = 350;
    const RANGE_OF_ANY_CASE: usize = 2_750;
    let is_flag = |c: char| c.is_ascii_alphabetic() || c == '-';
    let mut flags = written.split("(?").skip(1);
    let is_of_any_case =
        flags.any(|rest| rest.chars().take_while(|&c| is_flag(c)).any(|c| c == 'i'));
    let mut weight = written.len();
    let (mut before, mut next) = (' ', written.chars().skip(1));
    for c in written.chars() {
        let after = next.next().unwrap_or(' ');
        weight += match c {
            '?' | '*' | '+' | '{' => REPETITION,
            'p' | 'P' if before == '\\' && is_of_any_case => CLASS_OF_ANY_CASE,
            'p' | 'P' if before == '\\' => CLASS,
            '-' if is_of_any_case && !(before.is_ascii() && after.is_ascii_alphanumeric()) => {
                RANGE_OF_ANY_CASE
            }
            _ => 0,
        };
        before = c;
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_to_compile_is_heavy() {
        let hosts: Vec<String> = (0..10_000).map(|host| format!("host_{host}")).collect();
        assert!(Pattern::new(&hosts.join("|")).is_ok());
        let hosts: Vec<String> = (0..40_000).map(|host| format!("host_{host}")).collect();
        for heavy in [
            hosts.join("|"),
            format!("(?i){}", "[a-\u{10ffff}]".repeat(100)),
            format!("(?i){}", r"[a-\x{10ffff}]".repeat(100)),
            format!("(?si){}", r"\pL".repeat(1_000)),
            r"\pL".repeat(9_000),
            "(a)?".repeat(9_000),
        ] {
            let error = Pattern::new(&heavy).unwrap_err().0;
            assert!(error.contains("is too long"), "{error}");
        }
    }

    #[test]
    fn patterns_of_one_request_weigh_together() {
        // Long to read, and small when it is compiled.
        let heavy = format!("[{}]", "a".repeat(WEIGHT_MAX / 8 - 2));
        let compiled = || (0..40).take_while(|_| Pattern::new(&heavy).is_ok()).count();
        assert_eq!(Pattern::weighed(compiled), 32, "as much as four of the heaviest");
        assert_eq!(Pattern::weighed(compiled), 32, "each request begins anew");
        let within = || (compiled(), Pattern::weighed(compiled), compiled());
        assert_eq!(Pattern::weighed(within), (32, 32, 0), "work within work is its own");
        assert_eq!(compiled(), 40, "what is no request's has no such bound");
        let held = || (0..40).map_while(|_| Pattern::new(&heavy).ok()).collect::<Vec<_>>().len();
        assert_eq!(Pattern::weighed(held), 40, "one that is held is not compiled again");
        let [before, _] = Pattern::refused();
        let error = Pattern::weighed(|| {
            compiled();
            Pattern::new(&heavy).unwrap_err().0
        });
        assert!(error.contains("of the request are too long"), "{error}");
        assert!(Pattern::refused()[0] >= before + 2);
    }
}
