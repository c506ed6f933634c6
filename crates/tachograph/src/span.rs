//! Spans: named stretches of time, measured from begin to end.

use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::Duration;

use tachograph_capture::spans::{
    self, Attributes, Ended, Meter, Name, Open, Parent, Timing, is_profiling, is_recording,
};

use crate::live::timings;
use crate::value::AsAttribute;

/// A place in the program where a span begins, known by one name. The name is
/// looked up once; [`span!`](crate::span) keeps one for you.
#[derive(Debug)]
pub struct Site {
    text: &'static str,
    known: OnceLock<(Name, Meter)>,
}

impl Site {
    /// A place whose spans are called `name`.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { text: name, known: OnceLock::new() }
    }

    /// A span that can be given attributes before it begins.
    pub fn spec(&'static self) -> Spec {
        if !is_wanted() {
            return Spec { named: None, attributes: Vec::new() };
        }
        let (name, meter) = self.known.get_or_init(|| named(self.text));
        Spec { named: Some((*name, meter.clone())), attributes: Vec::new() }
    }
}

/// A span that has not begun yet.
///
/// ```
/// let _span = tachograph::Spec::new("request").with("path", "/").enter();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a span begins when it is entered"]
pub struct Spec {
    /// `None` when nobody wants to know.
    pub(crate) named: Option<(Name, Meter)>,
    attributes: Vec<(Name, Attributes)>,
}

impl Spec {
    /// A span called `name`.
    pub fn new(name: &str) -> Self {
        Self { named: is_wanted().then(|| named(name)), attributes: Vec::new() }
    }

    /// Attaches `value` under `key`.
    pub fn with(mut self, key: &str, value: impl AsAttribute) -> Self {
        if self.named.is_some() {
            let key = Name::of(key);
            self.attributes.push((key, Attributes::of([(key, value.as_attribute())])));
        }
        self
    }

    /// Begins the span; it ends when the guard is dropped.
    pub fn enter(self) -> Span {
        let attributes = self.packed();
        let begun = self
            .named
            .map(|(name, meter)| (spans::begin(name, attributes, Parent::OfThread, None), meter));
        Span { begun, was_panicking: std::thread::panicking(), stays: PhantomData }
    }

    /// All attributes in one.
    pub(crate) fn packed(&self) -> Attributes {
        Attributes::of(self.attributes.iter().flat_map(|(_, one)| one.iter()))
    }
}

impl From<&str> for Spec {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// A span that has begun. It ends when this is dropped; dropped by a panic, it
/// has failed. It stays on its thread: a future takes [`InSpan`](crate::InSpan).
#[derive(Debug)]
#[must_use = "the span ends when this is dropped; keep it: let _span = …"]
pub struct Span {
    begun: Option<(Open, Meter)>,
    was_panicking: bool,
    /// The span is the innermost of its thread, so it cannot leave it.
    stays: PhantomData<*const ()>,
}

impl Span {
    /// Ends the span now; how long it took, or nothing if nobody wanted to know.
    pub fn end(mut self) -> Duration {
        self.finish()
    }

    fn finish(&mut self) -> Duration {
        let Some((open, meter)) = self.begun.take() else { return Duration::ZERO };
        let failed = std::thread::panicking() && !self.was_panicking;
        finish(open, &meter, failed, 0)
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Runs `work` in a span called `name`.
///
/// ```
/// let total = tachograph::timed("sum", || (0..100).sum::<u32>());
/// assert_eq!(total, 4950);
/// ```
pub fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let _span = Spec::new(name).enter();
    work()
}

/// Begins a span that lasts until the end of the block.
///
/// The name is a literal or any `&str`; attributes follow as `key = value`.
///
/// ```
/// let batch = 7;
/// let _span = tachograph::span!("forward", batch = batch, device = "cpu");
/// ```
#[macro_export]
macro_rules! span {
    ($name:literal $(, $key:ident = $value:expr)* $(,)?) => {{
        static SITE: $crate::Site = $crate::Site::new($name);
        SITE.spec()$(.with(stringify!($key), $value))*.enter()
    }};
    ($name:expr $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::Spec::new($name)$(.with(stringify!($key), $value))*.enter()
    };
}

/// Ends `open` and tells whoever wants to know.
pub(crate) fn finish(open: Open, meter: &Meter, failed: bool, suspended_ns: u64) -> Duration {
    let timing = Timing { is_block: true, tags: None };
    let is_reported = is_profiling();
    let ended = Ended {
        failed,
        suspended_ns,
        meter: is_reported.then_some(meter),
        timing: is_reported.then_some(&timing),
        ..Ended::default()
    };
    Duration::from_nanos(spans::end(open, &ended))
}

fn is_wanted() -> bool {
    is_profiling() || is_recording()
}

fn named(name: &str) -> (Name, Meter) {
    let name = Name::of(name);
    (name, timings().meter(name))
}
