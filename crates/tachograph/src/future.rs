//! Futures in a span: the time they ran and the time they waited, apart.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tachograph_capture::spans::{self, Attributes, Ended, Meter, Open, Parent, SpanRef, Task};

use crate::span::{Spec, finish};

/// Futures can be put in a span.
pub trait InSpan: Future + Sized {
    /// This future in a span that begins with its first step and ends with its
    /// last. Spans inside are its children, on whatever thread it runs. The
    /// time between two steps is counted as suspended.
    ///
    /// ```
    /// # use std::task::{Context, Poll, Waker};
    /// use tachograph::{InSpan, Spec};
    ///
    /// let request = async { 7 }.in_span(Spec::new("request").with("path", "/"));
    /// # let mut request = std::pin::pin!(request);
    /// # let mut context = Context::from_waker(Waker::noop());
    /// # assert_eq!(request.as_mut().poll(&mut context), Poll::Ready(7));
    /// ```
    fn in_span(self, span: impl Into<Spec>) -> Spanned<Self> {
        let spec = span.into();
        Spanned { future: Box::pin(self), state: State::Waiting(spec) }
    }
}

impl<F: Future> InSpan for F {}

/// A future in a span; see [`InSpan::in_span`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Spanned<F> {
    future: Pin<Box<F>>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Not begun.
    Waiting(Spec),
    Begun(Box<Begun>),
    Over,
}

#[derive(Debug)]
struct Begun {
    open: Open,
    meter: Meter,
    running_ns: u64,
}

/// The part of a span that one step took, as the recording names it.
const STEP: &str = "running";

impl<F: Future> Future for Spanned<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        this.begin();
        let State::Begun(begun) = &mut this.state else {
            return this.future.as_mut().poll(context);
        };
        let step = Step::enter(begun);
        let outcome = this.future.as_mut().poll(context);
        drop(step);
        if outcome.is_ready() {
            this.end(false);
        }
        outcome
    }
}

impl<F> Spanned<F> {
    fn begin(&mut self) {
        let State::Waiting(spec) = &mut self.state else { return };
        let attributes = spec.packed();
        self.state = match spec.named.take() {
            None => State::Over,
            Some((name, meter)) => {
                // It moves between threads, so it has a track of its own.
                let task = Task::new(new_task(), name.text());
                let around = Parent::Is(spans::current());
                let open = spans::begin(name, attributes, around, Some(&task));
                State::Begun(Box::new(Begun { open, meter, running_ns: 0 }))
            }
        };
    }

    fn end(&mut self, failed: bool) {
        if let State::Begun(begun) = std::mem::replace(&mut self.state, State::Over) {
            let Begun { open, meter, running_ns } = *begun;
            let lasted = spans::now_ns().saturating_sub(open.start_ns());
            finish(open, &meter, failed, lasted.saturating_sub(running_ns));
        }
    }
}

impl<F> Drop for Spanned<F> {
    /// A future that is given up ends its span; one that panicked has failed.
    fn drop(&mut self) {
        self.end(std::thread::panicking());
    }
}

/// One step of a future: its span is the innermost of the thread meanwhile.
struct Step<'a> {
    before: SpanRef,
    part: Option<Open>,
    running_ns: &'a mut u64,
}

impl<'a> Step<'a> {
    fn enter(begun: &'a mut Begun) -> Self {
        let span = begun.open.as_parent();
        let name = spans::Name::of(STEP);
        let part = spans::begin(name, Attributes::default(), Parent::Is(span), None);
        Self { before: spans::enter(span), part: Some(part), running_ns: &mut begun.running_ns }
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        spans::enter(self.before);
        if let Some(part) = self.part.take() {
            *self.running_ns += spans::end(part, &Ended::default());
        }
    }
}

fn new_task() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
