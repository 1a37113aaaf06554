//! The stage: the threads of one simulation, and who of them runs.

use generator::{Generator, Gn};
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::time::Duration;

/// Words of a thread's stack. Only what is touched takes memory.
const STACK_WORDS: usize = 128 << 10;
/// A simulation that switches threads so often will never end; long rounds come to four million.
const SWITCHES_MAX: u64 = 30_000_000;
/// A thread that passes so many places without ever waiting runs in circles; to look through 600
/// parts takes some twenty million.
const PASSES_MAX: u64 = 40_000_000;
/// After so many places others have their turn, whatever the world says.
const PASSES_OF_TURN_MAX: u64 = 10_000;

/// What a thread does.
pub type Body = Box<dyn FnOnce() + Send>;

/// What the threads get from outside: time and chance.
pub trait World {
    /// A clock that never goes back, in nanoseconds.
    fn now_ns(&self) -> u64;
    /// Moves the clock forward: nobody has anything to do before.
    fn advance(&mut self, ns: u64);
    /// Whether the running thread is put aside here, where it need not be.
    fn interrupts(&mut self) -> bool;
    /// A number below `choices`.
    fn pick(&mut self, choices: usize) -> usize;
}

/// Why a simulation ended before its threads.
#[derive(Debug)]
pub enum Failure {
    /// A thread panicked: its name, and what it said.
    Panicked(String, String),
    /// Each thread waits for another one: their names, and where they wait.
    Stuck(Vec<(String, String)>),
    /// A thread, or all of them, run in circles.
    Endless(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(name, text) => write!(f, "thread {name} panicked: {text}"),
            Self::Endless(name) => write!(f, "{name} runs in circles"),
            Self::Stuck(threads) => {
                f.write_str("the threads block each other:")?;
                threads.iter().try_for_each(|(name, place)| write!(f, "\n  {name} at {place}"))
            }
        }
    }
}

/// A thread of the simulation.
#[derive(Debug)]
pub struct Handle {
    id: usize,
}

impl Handle {
    /// Whether the thread has ended.
    pub fn is_over(&self) -> bool {
        with(|stage| stage.is_over(self.id)).unwrap_or(true)
    }

    /// Waits until the thread has ended.
    #[track_caller]
    pub fn join(self) {
        let place = Location::caller();
        while !with(|stage| stage.is_over(self.id)).unwrap_or(true) {
            wait(Wait { on: On::End(self.id), until_ns: None, place });
        }
    }
}

/// What a thread waits for: a lock or condition by its address, or the end of another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Address(usize),
    End(usize),
    Time,
}

pub(crate) struct Wait {
    pub(crate) on: On,
    pub(crate) until_ns: Option<u64>,
    pub(crate) place: &'static Location<'static>,
}

enum State {
    Ready,
    Waiting(Wait),
    Over,
}

struct Thread {
    name: String,
    state: State,
    /// Places that it passed since it last waited.
    passes: u64,
}

/// What is to be done next.
enum Next {
    Run(usize),
    End,
    Fail(Failure),
}

struct Stage {
    world: Box<dyn World>,
    threads: Vec<Thread>,
    /// Those that have not ended, ascending: long rounds start hundreds of threads, and few of them
    /// go on at once.
    alive: Vec<usize>,
    /// How many of those can go on, the running one among them.
    ready: usize,
    /// Started and not yet given a stack; numbered on from those that have one.
    fresh: Vec<Body>,
    current: usize,
    switches: u64,
    panic: Option<Failure>,
}

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

/// Does something with the stage; nothing when this thread runs no simulation.
fn with<T>(act: impl FnOnce(&mut Stage) -> T) -> Option<T> {
    STAGE.with_borrow_mut(|stage| stage.as_mut().map(act))
}

/// Runs `main` and all threads that it starts, until all have ended.
///
/// # Errors
/// When a thread panicked or none can go on. The threads are left as they are then, with their
/// memory.
pub fn run(world: Box<dyn World>, main: Body) -> Result<(), Failure> {
    STAGE.set(Some(Stage {
        world,
        threads: Vec::new(),
        alive: Vec::new(),
        ready: 0,
        fresh: Vec::new(),
        current: 0,
        switches: 0,
        panic: None,
    }));
    spawn("main", main);
    let mut stacks: Vec<Option<Generator<'static, (), ()>>> = Vec::new();
    let result = loop {
        let fresh = with(|stage| std::mem::take(&mut stage.fresh)).unwrap_or_default();
        stacks.extend(fresh.into_iter().map(|body| Some(stack(body))));
        match with(Stage::next) {
            Some(Next::Run(id)) => {
                let Some(stack) = stacks.get_mut(id) else { continue };
                if let Some(thread) = stack
                    && (thread.resume().is_none() || thread.is_done())
                {
                    *stack = None;
                }
            }
            Some(Next::Fail(failure)) => break Err(failure),
            Some(Next::End) | None => break Ok(()),
        }
    };
    if result.is_err() {
        // To unwind them would run the store's own ends on a stage that has none.
        std::mem::forget(stacks);
    }
    STAGE.set(None);
    result
}

/// What a thread runs on.
fn stack(body: Body) -> Generator<'static, (), ()> {
    Gn::new_opt(STACK_WORDS, move || play(body))
}

/// A thread from its first step to its last.
fn play(body: Body) {
    let result = catch_unwind(AssertUnwindSafe(body));
    with(|stage| {
        let id = stage.current;
        if let Some(thread) = stage.threads.get_mut(id) {
            thread.state = State::Over;
            stage.alive.retain(|alive| *alive != id);
            stage.ready -= 1;
            if let Err(panic) = result {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|t| (*t).to_owned()));
                let name = thread.name.clone();
                stage.panic = Some(Failure::Panicked(name, text.unwrap_or_default()));
            }
        }
        stage.wake(On::End(id));
    });
}

impl Stage {
    fn is_over(&self, id: usize) -> bool {
        self.threads.get(id).is_none_or(|thread| matches!(thread.state, State::Over))
    }

    fn wake(&mut self, on: On) {
        self.wake_all(|wait| wait.on == on);
    }

    /// Threads whose time has come.
    fn wake_late(&mut self) {
        let now_ns = self.world.now_ns();
        self.wake_all(|wait| wait.until_ns.is_some_and(|until_ns| until_ns <= now_ns));
    }

    fn wake_all(&mut self, is_due: impl Fn(&Wait) -> bool) {
        for &id in &self.alive {
            if let Some(thread) = self.threads.get_mut(id)
                && matches!(&thread.state, State::Waiting(wait) if is_due(wait))
            {
                thread.state = State::Ready;
                self.ready += 1;
            }
        }
    }

    fn next(&mut self) -> Next {
        if let Some(failure) = self.panic.take() {
            return Next::Fail(failure);
        }
        self.switches += 1;
        if self.switches > SWITCHES_MAX {
            let places =
                self.waits().map(|(thread, wait)| format!("{} at {}", thread.name, wait.place));
            let places: Vec<String> = places.collect();
            let ready = self.ready().filter_map(|id| Some(self.threads.get(id)?.name.as_str()));
            let ready: Vec<&str> = ready.collect();
            let text = format!("{}, while there wait {},", ready.join(", "), places.join(", "));
            return Next::Fail(Failure::Endless(text));
        }
        self.wake_late();
        if self.ready == 0 {
            let deadlines = self.waits().filter_map(|(_, wait)| wait.until_ns);
            match deadlines.min() {
                Some(until_ns) => {
                    let ns = until_ns.saturating_sub(self.world.now_ns());
                    self.world.advance(ns);
                    self.wake_late();
                }
                None if self.waits().next().is_none() => return Next::End,
                None => {
                    let place = |wait: &Wait| wait.place.to_string();
                    let all = self.waits().map(|(thread, wait)| (thread.name.clone(), place(wait)));
                    return Next::Fail(Failure::Stuck(all.collect()));
                }
            }
        }
        let at = self.world.pick(self.ready);
        let id = self.ready().nth(at).unwrap_or_default();
        self.current = id;
        Next::Run(id)
    }

    fn ready(&self) -> impl Iterator<Item = usize> {
        let is_ready = |id: &usize| {
            self.threads.get(*id).is_some_and(|thread| matches!(thread.state, State::Ready))
        };
        self.alive.iter().copied().filter(is_ready)
    }

    fn waits(&self) -> impl Iterator<Item = (&Thread, &Wait)> {
        let threads = self.alive.iter().filter_map(|id| self.threads.get(*id));
        threads.filter_map(|thread| match &thread.state {
            State::Waiting(wait) => Some((thread, wait)),
            _ => None,
        })
    }
}

/// Starts a thread.
pub fn spawn(name: &str, body: Body) -> Handle {
    let id = with(|stage| {
        let name = name.to_owned();
        stage.threads.push(Thread { name, state: State::Ready, passes: 0 });
        stage.fresh.push(body);
        let id = stage.threads.len() - 1;
        stage.alive.push(id);
        stage.ready += 1;
        id
    });
    Handle { id: id.unwrap_or(usize::MAX) }
}

/// The name of the running thread, and its number among all that were started.
pub fn current() -> Option<(String, usize)> {
    with(|stage| {
        let name = stage.threads.get(stage.current).map(|thread| thread.name.clone());
        (name.unwrap_or_default(), stage.current)
    })
}

/// A place where the running thread may be put aside.
pub fn pass() {
    let is_put_aside = with(|stage| {
        let thread = stage.threads.get_mut(stage.current)?;
        thread.passes += 1;
        let passes = thread.passes;
        if passes > PASSES_MAX {
            stage.panic = Some(Failure::Endless(thread.name.clone()));
        }
        let has_others = stage.ready > 1;
        let is_long = passes.is_multiple_of(PASSES_OF_TURN_MAX);
        Some(is_long || (has_others && stage.world.interrupts()))
    });
    // A thread that unwinds goes on: what it would wait for may never come.
    if is_put_aside.flatten() == Some(true) && !std::thread::panicking() {
        yield_here();
    }
}

/// Pauses the running thread.
#[track_caller]
pub fn sleep(pause: Duration) {
    let place = Location::caller();
    wait(Wait { on: On::Time, until_ns: deadline(pause), place });
}

/// When a wait of that length ends.
pub(crate) fn deadline(pause: Duration) -> Option<u64> {
    let ns = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
    with(|stage| stage.world.now_ns().saturating_add(ns))
}

/// Whether this thread runs a simulation.
pub(crate) fn is_here() -> bool {
    with(|_| ()).is_some()
}

/// Puts the running thread aside until it is woken, or its time has come.
pub(crate) fn wait(wait: Wait) {
    with(|stage| {
        let id = stage.current;
        if let Some(thread) = stage.threads.get_mut(id) {
            thread.passes = 0;
            thread.state = State::Waiting(wait);
            stage.ready -= 1;
        }
    });
    yield_here();
}

/// Wakes all that wait for the lock or condition at `address`.
pub(crate) fn wake_all(address: usize) {
    with(|stage| stage.wake(On::Address(address)));
}

/// Wakes one of those.
pub(crate) fn wake_one(address: usize) {
    with(|stage| {
        let on = On::Address(address);
        let waits = |id: &usize| match stage.threads.get(*id).map(|thread| &thread.state) {
            Some(State::Waiting(wait)) => wait.on == on,
            _ => false,
        };
        let waiting: Vec<usize> = stage.alive.iter().copied().filter(waits).collect();
        if !waiting.is_empty() {
            let at = stage.world.pick(waiting.len());
            if let Some(thread) = waiting.get(at).and_then(|id| stage.threads.get_mut(*id)) {
                thread.state = State::Ready;
                stage.ready += 1;
            }
        }
    });
}

fn yield_here() {
    #[allow(deprecated, reason = "a lock deep in foreign sources has no scope at hand")]
    generator::yield_with(());
}
