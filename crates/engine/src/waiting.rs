//! Threads that must not wait for a disk.

use std::cell::Cell;

/// What becomes of this thread's reads of files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    Answered,
    Refused,
    /// They are refused, and one was.
    Missed,
}

thread_local! {
    static READS: Cell<Reads> = const { Cell::new(Reads::Answered) };
}

/// Runs `work` without letting it read files: what the page cache does not hold is refused with
/// [`crate::Error::NotInMemory`]. Nothing if something was refused, whatever `work` made of that.
pub fn without_files<T>(work: impl FnOnce() -> T) -> Option<T> {
    let _end = End;
    READS.set(Reads::Refused);
    let outcome = work();
    (READS.get() == Reads::Refused).then_some(outcome)
}

/// Lets the thread read files again, also after a panic.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        READS.set(Reads::Answered);
    }
}

/// Whether a file that would now be read must not be, which is remembered.
pub(crate) fn refuses_files() -> bool {
    let refuses = READS.get() != Reads::Answered;
    if refuses {
        READS.set(Reads::Missed);
    }
    refuses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_read_spoils_the_work_and_ends_with_it() {
        assert!(!refuses_files());
        assert_eq!(without_files(|| 1), Some(1));
        assert_eq!(without_files(|| assert!(refuses_files())), None);
        assert!(!refuses_files());
        assert_eq!(without_files(|| 2), Some(2));
        let panicked = std::panic::catch_unwind(|| without_files(|| panic!("as it should")));
        assert!(panicked.is_err() && !refuses_files());
    }
}
