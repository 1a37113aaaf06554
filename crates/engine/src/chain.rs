//! Chains: what happened since a reader began. Each place in a chain is where somebody may begin;
//! what is added behind it stays there for as long as somebody holds that place.

use std::sync::{Arc, OnceLock};

/// A place in a chain.
pub(crate) struct Chain<T>(OnceLock<(T, Arc<Chain<T>>)>);

impl<T> Chain<T> {
    /// Adds an item, and returns the place behind it. This must be the end of the chain.
    pub(crate) fn add(&self, item: T) -> Arc<Self> {
        self.0.get_or_init(|| (item, Arc::default())).1.clone()
    }

    /// Whether nothing was added behind this place.
    pub(crate) fn is_end(&self) -> bool {
        self.0.get().is_none()
    }

    /// Where the chain ends now.
    pub(crate) fn end(&self) -> &Self {
        let mut at = self;
        while let Some((_, next)) = at.0.get() {
            at = next;
        }
        at
    }

    /// The same, for whoever begins there.
    pub(crate) fn behind(chain: &Arc<Self>) -> Arc<Self> {
        let mut at = chain;
        while let Some((_, next)) = at.0.get() {
            at = next;
        }
        at.clone()
    }

    /// What was added behind this place, before `end`, in order.
    pub(crate) fn until<'c>(&'c self, end: &Self) -> impl Iterator<Item = &'c T> + use<'c, T> {
        let (mut at, end) = (self, std::ptr::from_ref(end));
        std::iter::from_fn(move || {
            let (item, next) = at.0.get().filter(|_| !std::ptr::eq(at, end))?;
            at = next;
            Some(item)
        })
    }
}

impl<T> Default for Chain<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> Drop for Chain<T> {
    /// One by one, since a chain may be longer than the stack is deep.
    fn drop(&mut self) {
        let mut next = self.0.take().map(|(_, next)| next);
        while let Some(mut chain) = next.and_then(Arc::into_inner) {
            next = chain.0.take().map(|(_, next)| next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_shows_what_came_after_it_up_to_an_end() {
        let first = Arc::new(Chain::default());
        assert!(first.is_end());
        let second = first.add('a');
        let end = first.end();
        second.add('b').add('c');
        assert!(!first.is_end());
        assert_eq!(first.until(end).collect::<String>(), "a");
        assert_eq!(first.until(first.end()).collect::<String>(), "abc");
        assert_eq!(second.until(first.end()).collect::<String>(), "bc");
    }

    #[test]
    fn a_long_chain_goes_on_a_short_stack() {
        let first = Arc::new(Chain::default());
        let mut last: Arc<Chain<u32>> = first.clone();
        (0..200_000).for_each(|number| last = last.add(number));
        let drop = move || drop((first, last));
        std::thread::Builder::new().stack_size(64 << 10).spawn(drop).unwrap().join().unwrap();
    }
}
