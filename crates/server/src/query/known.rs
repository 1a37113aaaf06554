//! Texts of questions that come again, with what was read of them.
//!
//! A dashboard, an alert and a monitor send the same texts every few seconds, and to read one costs
//! as much as to find its series. What a text says does not depend on when it is asked, by whom or
//! of which database: `now()` is a name until the question is carried out, and rights are looked at
//! then. So it stays right for as long as the process runs.
//!
//! 1. A text that comes for the first time leaves its hash, which the next one of its place writes
//!    over: texts with times in them never come again, and cost no more than that.
//! 2. One that comes again is kept with what was read of it. Together they weigh so much at most;
//!    those that were not asked for longest go first.

use super::long::weight_of;
use foliot_lock::{Mutex, Rank};
use std::collections::HashMap;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// What is kept weighs so much at most, by the weights of its texts: some hundred questions.
const WEIGHT_MAX: usize = 1 << 20;

/// Longer texts are read each time: one of them would take the place of too many others.
const TEXT_BYTES_MAX: usize = 1 << 10;

/// Places for hashes of texts that came once.
const SEEN: usize = 256;

/// What was read of texts.
#[derive(Debug)]
pub(crate) struct Known<T: ?Sized>(Mutex<Pile<T>>);

#[derive(Debug)]
struct Pile<T: ?Sized> {
    /// By the hashes of texts.
    texts: HashMap<u64, Text<T>>,
    weight: usize,
    /// How often something was looked for.
    turn: u64,
    /// Hashes of texts that came once, each at the place that it tells.
    seen: Vec<u64>,
}

#[derive(Debug)]
struct Text<T: ?Sized> {
    text: Box<str>,
    weight: usize,
    /// When it was asked for last.
    turn: u64,
    read: Arc<T>,
}

impl<T: ?Sized> Default for Known<T> {
    fn default() -> Self {
        let (texts, seen) = (HashMap::new(), Vec::new());
        Self(Mutex::new(Rank::Table, Pile { texts, weight: 0, turn: 0, seen }))
    }
}

impl<T: ?Sized> Known<T> {
    /// What was read of `text`, or what `read` makes of it, which is kept where it `may_be_kept`
    /// and the text comes again. What cannot be read is not.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn read<E>(
        &self,
        text: &str,
        may_be_kept: impl FnOnce(&T) -> bool,
        read: impl FnOnce() -> Result<Arc<T>, E>,
    ) -> Result<Arc<T>, E> {
        if text.len() > TEXT_BYTES_MAX {
            return read();
        }
        let hash = xxh3_64(text.as_bytes());
        let comes_again = match self.0.lock().find(hash, text) {
            Ok(known) => return Ok(known),
            Err(comes_again) => comes_again,
        };
        let made = read()?;
        if comes_again && may_be_kept(&made) {
            self.0.lock().keep(hash, text, made.clone());
        }
        Ok(made)
    }
}

impl<T: ?Sized> Pile<T> {
    /// What was read of a text; otherwise whether it came before.
    fn find(&mut self, hash: u64, text: &str) -> Result<Arc<T>, bool> {
        self.turn += 1;
        if let Some(known) = self.texts.get_mut(&hash).filter(|known| *known.text == *text) {
            known.turn = self.turn;
            return Ok(known.read.clone());
        }
        if self.seen.is_empty() {
            self.seen = vec![0; SEEN];
        }
        let place = self.seen.get_mut((hash % SEEN as u64) as usize);
        Err(place.is_some_and(|place| std::mem::replace(place, hash) == hash))
    }

    fn keep(&mut self, hash: u64, text: &str, read: Arc<T>) {
        let weight = weight_of(text.as_bytes());
        if weight > WEIGHT_MAX {
            return;
        }
        let (text, turn) = (text.into(), self.turn);
        let before = self.texts.insert(hash, Text { text, weight, turn, read });
        self.weight = self.weight + weight - before.map_or(0, |before| before.weight);
        while self.weight > WEIGHT_MAX
            && let Some((&oldest, _)) = self.texts.iter().min_by_key(|(_, known)| known.turn)
        {
            self.weight -= self.texts.remove(&oldest).map_or(0, |gone| gone.weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Reads texts, and tells which of them had to be read.
    fn reads(known: &Known<str>, texts: &[&str]) -> Vec<bool> {
        let read = |text: &&str| {
            let is_read = Cell::new(false);
            let found = known.read(
                text,
                |_| true,
                || {
                    is_read.set(true);
                    Ok::<_, ()>(Arc::from(text.to_uppercase()))
                },
            );
            assert_eq!(&*found.unwrap(), text.to_uppercase());
            is_read.get()
        };
        texts.iter().map(read).collect()
    }

    #[test]
    fn a_text_is_kept_when_it_comes_again() {
        let known = Known::default();
        assert_eq!(
            reads(&known, &["a", "b", "a", "a", "b", "b"]),
            [true, true, true, false, true, false]
        );
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        assert_eq!(reads(&known, &[long.as_str(); 3]), [true; 3]);
    }

    #[test]
    fn what_fails_or_may_not_be_kept_is_read_again() {
        let known: Known<str> = Known::default();
        for _ in 0..3 {
            assert_eq!(known.read("a", |_| true, || Err(7)), Err(7));
        }
        let asked = Cell::new(0);
        for _ in 0..5 {
            let read = || {
                asked.set(asked.get() + 1);
                Ok::<_, ()>(Arc::from("B"))
            };
            assert_eq!(known.read("b", |_| false, read).as_deref(), Ok("B"));
        }
        assert_eq!(asked.get(), 5);
    }

    #[test]
    fn what_was_not_asked_for_longest_goes_first() {
        let known = Known::default();
        let texts: Vec<String> = (0..200).map(|at| format!("{at:0200}")).collect();
        let twice = |text: &str| reads(&known, &[text, text]);
        twice("first");
        for text in &texts {
            twice(text);
            assert_eq!(reads(&known, &["first"]), [false], "it is asked for all the while");
        }
        let pile = known.0.lock();
        assert!(pile.weight <= WEIGHT_MAX && pile.texts.len() > 20, "{}", pile.weight);
        assert_eq!(pile.weight, pile.texts.values().map(|known| known.weight).sum::<usize>());
        drop(pile);
        assert_eq!(reads(&known, &[texts[199].as_str(), texts[0].as_str()]), [false, true]);
    }
}
