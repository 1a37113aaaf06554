//! Answers: which values of big labels pass a test, remembered for when it is asked again.
//!
//! A dashboard asks the same regular expressions every few seconds, and one question may ask them
//! several times. Values never change and pairs are only added, so an answer stays right; pairs
//! that came since are tested when it is used.

use crate::bitmap::Bitmap;
use crate::names::Names;
use crate::select::{GoesOn, VALUES_PER_ASK};
use foliot_lock::{Mutex, Rank};
use foliot_model::Test;

/// Tests that are remembered: those of a few dashboards. An answer takes an eighth of a byte for
/// each pair there is.
const ANSWERS_MAX: usize = 16;

/// The latest answers, the last one used last.
#[derive(Debug)]
pub(crate) struct Answers(Mutex<Vec<Answer>>);

#[derive(Clone, Debug)]
struct Answer {
    namespace: u32,
    label: u32,
    /// The test in words, which tell it from every other one.
    test: String,
    passing: Bitmap,
    /// Pairs of all labels that were looked at.
    seen: u32,
}

impl Default for Answers {
    fn default() -> Self {
        Self(Mutex::new(Rank::Found, Vec::new()))
    }
}

impl Answers {
    /// The pairs of a label whose values pass; nothing when it was not to go on.
    pub(crate) fn of(
        &self,
        names: &Names,
        [namespace, label]: [u32; 2],
        test: &Test,
        goes_on: &GoesOn<'_>,
    ) -> Option<Bitmap> {
        let words = format!("{test:?}");
        let known = self.take(namespace, label, &words);
        let mut answer = known.unwrap_or_else(|| Answer {
            namespace,
            label,
            test: words,
            passing: Bitmap::default(),
            seen: 0,
        });
        let mut values = names.values();
        let mut asked = 0;
        for pair in names.pairs_from(namespace, label, answer.seen) {
            asked += 1;
            if asked % VALUES_PER_ASK == 0 && !goes_on(VALUES_PER_ASK as usize) {
                return None;
            }
            if test.passes(values.of(pair)) {
                answer.passing.set(pair);
            }
        }
        answer.seen = names.pairs().entries().len();
        let passing = answer.passing.clone();
        let mut answers = self.0.lock();
        answers.push(answer);
        let surplus = answers.len().saturating_sub(ANSWERS_MAX);
        answers.drain(..surplus);
        Some(passing)
    }

    /// Whoever asks the same meanwhile finds out for themselves.
    fn take(&self, namespace: u32, label: u32, test: &str) -> Option<Answer> {
        let mut answers = self.0.lock();
        let is_it = |answer: &Answer| {
            (answer.namespace, answer.label) == (namespace, label) && answer.test == test
        };
        let at = answers.iter().position(is_it)?;
        Some(answers.remove(at))
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.lock().iter().map(|answer| answer.passing.memory_bytes()).sum()
    }
}
