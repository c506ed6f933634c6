//! `top PID`: a live screen of what a running program does.

mod keys;
mod rows;
mod screen;
mod view;

use std::io;
use std::time::{Duration, Instant};

use clap::Args;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use tachograph_capture::attach::{AttachOptions, Recorder, Target};
use tachograph_profile::Mode;

use crate::console::{Console, Stream};
use crate::end::End;
use crate::failure::Failure;
use crate::outside::{Interrupt, mode, pid, rate_hz, seconds};
use view::View;

const EXAMPLES: &str = "\
examples:
  tachograph top 4242                 functions by CPU time
  tachograph top 4242 --mode wall     waiting threads too
  tachograph top 4242 -r 1khz         finer, costs the program about 5 %

keys:
  q quit   s/t/f/n sort by self, total, file, thread   / filter   space pause   r reset   ? help

exit status:
  0  you quit     2  wrong usage     3  the program could not be read, ended, or replaced itself";

/// How long keys may wait.
const SLICE: Duration = Duration::from_millis(50);

/// Watch what a running Python program spends its time on
///
/// A live screen: functions, threads, how long the interpreter lock is held, CPU
/// and memory. The program runs no code of ours; a thread that runs is stopped
/// for some 50 µs while it is read.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Top {
    /// Process to watch
    #[arg(value_name = "PID", value_parser = pid)]
    pid: i32,
    /// Looks per second, such as 100 or 1khz
    #[arg(short, long, value_name = "HZ", default_value = "100", value_parser = rate_hz)]
    rate: f64,
    /// Which time is shown: cpu, or wall with waiting threads too
    #[arg(long, value_name = "MODE", default_value = "cpu", value_parser = mode)]
    mode: Mode,
    /// Leave out C and C++ frames
    #[arg(long)]
    no_native: bool,
    /// Time between two pictures, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    delay: Duration,
    /// Time the figures cover, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    window: Duration,
}

impl Top {
    pub(crate) fn run(self, console: &Console) -> Result<End, Failure> {
        if !Stream::Output.is_terminal() || !io::IsTerminal::is_terminal(&io::stdin()) {
            return Err(Failure::usage(
                "top needs a terminal to draw on",
                format!("`tachograph dump {0}` and `tachograph attach {0}` do not", self.pid),
            ));
        }
        let interrupt = Interrupt::watch()?;
        let failed = |error| Failure::from_error(&error);
        let target = Target::find(self.pid).map_err(failed)?;
        let options = AttachOptions {
            interval_ns: (1e9 / self.rate).round() as u64,
            mode: self.mode,
            native: !self.no_native,
            source: false,
            ..AttachOptions::default()
        };
        let view = View::of(&target, self.mode, self.window);
        let recorder = Recorder::begin(target, options, io::sink()).map_err(failed)?;
        let style = console.style(Stream::Output);
        let mut terminal = ratatui::try_init()?;
        let outcome = self.watch(recorder, view, &interrupt, |view| {
            terminal.draw(|frame| screen::draw(frame, view, &style)).map(|_| ())
        });
        ratatui::restore();
        outcome
    }

    /// Shows pictures until the user quits or the program ends.
    fn watch(
        &self,
        mut recorder: Recorder<io::Sink>,
        mut view: View,
        interrupt: &Interrupt,
        mut draw: impl FnMut(&mut View) -> io::Result<()>,
    ) -> Result<End, Failure> {
        draw(&mut view)?;
        let mut due = Instant::now() + self.delay;
        while !interrupt.came() {
            let left = due.saturating_duration_since(Instant::now());
            let recorded = recorder.run(left.min(SLICE), &|| interrupt.came());
            if let Err(error) = recorded {
                let failure = Failure::from_error(&error);
                let kept = "what was recorded until then is kept, ";
                let remedy = failure.remedy.map(|remedy| remedy.replace(kept, ""));
                return Err(Failure { remedy, ..failure });
            }
            let mut changed = false;
            while event::poll(Duration::ZERO)? {
                changed = true;
                if let Event::Key(key) = event::read()?
                    && key.kind != KeyEventKind::Release
                    && keys::press(&mut view, key) == keys::Then::Quit
                {
                    return Ok(End::DONE);
                }
            }
            if Instant::now() >= due {
                due = Instant::now() + self.delay;
                let samples = recorder.take_samples();
                view.add(recorder.tables(), samples, &recorder.progress());
                changed = true;
            }
            if changed {
                draw(&mut view)?;
            }
        }
        Ok(End::DONE)
    }
}
