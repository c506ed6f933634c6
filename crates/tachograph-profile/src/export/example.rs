//! A recording of a small training job, made up for tests: every kind of
//! frame, three threads, one of them without a name, spans, losses and notes.

use crate::{
    CpuReport, CpuSettings, Frame, FrameKind, Interner, Loss, Machine, Meta, Mode, Note, Profile,
    PythonInfo, Roots, Sample, Settings, Source, Span, SpanId, StackId, StringId, ThreadState,
    Time, TrackId, TrackKind, Trigger, Value,
};

const TRAIN: &str = "/home/ada/job/train.py";
const DATA: &str = "/home/ada/job/data.py";
const THREADING: &str = "/usr/lib/python3.12/threading.py";
const QUEUE: &str = "/usr/lib/python3.12/queue.py";
const JSON: &str = "/usr/lib/python3.12/json/decoder.py";
const TENSOR: &str = "/usr/lib/python3.12/site-packages/tensorlib/tensor.py";
const ADAM: &str = "/usr/lib/python3.12/site-packages/tensorlib/optim/adamw.py";

const SOURCE: &str = "import tensorlib\n\n\ndef clip_gradients(tensors):\n    \
    total = sum(t.norm() for t in tensors)\n    for t in tensors:\n        t.grad /= total\n";

/// One line of the made-up program: `kind function file line first_line`.
type Call = (FrameKind, &'static str, &'static str, u32, u32);

const fn py(function: &'static str, file: &'static str, line: u32, first: u32) -> Call {
    (FrameKind::Python, function, file, line, first)
}

const fn native(function: &'static str, file: &'static str) -> Call {
    (FrameKind::Native, function, file, 0, 0)
}

const MODULE: Call = py("<module>", TRAIN, 88, 1);
const MAIN: Call = py("main", TRAIN, 71, 60);
const EPOCH: Call = py("run_epoch", TRAIN, 48, 40);
const STEP: Call = py("Adam.step", ADAM, 131, 118);
const CLIP: Call = py("clip_gradients", TRAIN, 7, 4);
const BOOT: Call = py("Thread._bootstrap_inner", THREADING, 1075, 1060);
const RUN: Call = py("Thread.run", THREADING, 1012, 998);
const WORKER: Call = py("worker", DATA, 88, 80);

/// Stacks with the thread they run on, how often they are seen in a round, and
/// the state of the thread.
fn stacks() -> Vec<(usize, u64, ThreadState, Vec<Call>)> {
    use ThreadState::{Idle, Running, RunningWithGil, WaitingForGil};
    let epoch = |rest: &[Call]| [&[MODULE, MAIN, EPOCH], rest].concat();
    let worker = |rest: &[Call]| [&[BOOT, RUN, WORKER], rest].concat();
    let forward = py("forward", TRAIN, 31, 26);
    let matmul = py("Tensor.__matmul__", TENSOR, 301, 290);
    let decode = py("decode", DATA, 51, 44);
    vec![
        (0, 3, WaitingForGil, epoch(&[py("Queue.get", QUEUE, 171, 154)])),
        (
            0,
            14,
            Running,
            epoch(&[forward, matmul, native("sgemm_kernel", "/usr/lib/libblas.so.3")]),
        ),
        (
            0,
            4,
            Running,
            epoch(&[forward, matmul, native("pack_panel<float>", "/usr/lib/libblas.so.3")]),
        ),
        (0, 3, RunningWithGil, epoch(&[forward, matmul])),
        (0, 6, RunningWithGil, epoch(&[CLIP])),
        (
            0,
            5,
            RunningWithGil,
            epoch(&[CLIP, py("clip_gradients.<locals>.<genexpr>", TRAIN, 5, 5)]),
        ),
        (0, 4, RunningWithGil, epoch(&[STEP, py("_update_group", ADAM, 144, 140)])),
        (0, 2, Running, epoch(&[STEP, native("", "/usr/lib/libtensor.so")])),
        (0, 1, RunningWithGil, vec![MODULE, py("report", "<string>", 1, 1)]),
        (
            0,
            6,
            Idle,
            epoch(&[py("Queue.get", QUEUE, 171, 154), py("Condition.wait", THREADING, 355, 311)]),
        ),
        (
            1,
            9,
            RunningWithGil,
            worker(&[
                decode,
                py("JSONDecoder.decode", JSON, 337, 332),
                native("scan_once", "/usr/lib/python3.12/lib-dynload/_json.so"),
            ]),
        ),
        (
            1,
            6,
            RunningWithGil,
            worker(&[py("augment", DATA, 66, 63), py("jitter_colour", DATA, 31, 28)]),
        ),
        (
            1,
            2,
            Running,
            worker(&[
                decode,
                native("inflate", "/usr/lib/libz.so.1"),
                (FrameKind::Kernel, "vfs_read", "", 0, 0),
            ]),
        ),
        (1, 5, Idle, worker(&[py("Queue.put", QUEUE, 140, 122)])),
        (2, 2, Running, vec![(FrameKind::Label, "<thread without Python frames>", "", 0, 0)]),
    ]
}

/// The job recorded in `mode`: four rounds over all stacks.
pub(crate) fn training_run(mode: Mode) -> Profile {
    let mut tables = Interner::default();
    let process = tables.track(TrackKind::Process, None, 4242, "train.py", Time(0));
    let names = [(4242, "MainThread"), (4251, "loader-1"), (4260, "")];
    let tracks =
        names.map(|(id, name)| tables.track(TrackKind::Thread, Some(process), id, name, Time(0)));
    let rows: Vec<_> = stacks()
        .into_iter()
        .map(|(thread, times, state, calls)| {
            (tracks[thread], times, state, add_stack(&mut tables, &calls))
        })
        .collect();
    let samples = samples(&rows, mode);
    let file = tables.string(TRAIN);
    let text = SOURCE.into();
    tables.tables_mut().sources.push(Source { file, text });
    let spans = spans(&mut tables, tracks[0]);
    let note = tables.string("the program replaced the SIGURG handler for 0.2 s");
    let notes = vec![Note { time: Time(700_000_000), track: process, warning: true, text: note }];
    let cpu: u64 = samples.iter().map(|sample| sample.cpu_ns).sum();
    let meta = meta(mode, &samples, cpu);
    let loss = Loss { truncated_stacks: 2, ..Loss::default() };
    Profile {
        meta,
        loss,
        tables: tables.into_tables(),
        samples,
        spans,
        notes,
        ..Profile::default()
    }
}

fn add_stack(tables: &mut Interner, calls: &[Call]) -> StackId {
    let mut stack = None;
    for (index, (kind, function, file, line, first_line)) in calls.iter().enumerate() {
        let (function, file) = (tables.string(function), tables.string(file));
        let frame = tables.frame(Frame {
            function,
            file,
            line: *line,
            first_line: *first_line,
            kind: *kind,
            mapping: None,
            address: if function == StringId(0) { 0x1f40 + index as u64 } else { 0 },
        });
        stack = Some(tables.stack(stack, frame));
    }
    stack.unwrap_or_default()
}

/// Every stack as often as it should be seen, spread over two seconds. CPU
/// weights differ a little, as scaled ones do.
fn samples(rows: &[(TrackId, u64, ThreadState, StackId)], mode: Mode) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut clocks = [0u64; 16];
    for round in 0..4 {
        for &(track, times, state, stack) in rows {
            let on_cpu = matches!(state, ThreadState::Running | ThreadState::RunningWithGil);
            if mode == Mode::Cpu && !on_cpu {
                continue;
            }
            for _ in 0..times {
                let clock = &mut clocks[track.index()];
                *clock += 10_000_000;
                samples.push(Sample {
                    time: Time(*clock),
                    track,
                    task: None,
                    stack,
                    wall_ns: if mode == Mode::Wall { 10_000_000 } else { 0 },
                    cpu_ns: if on_cpu { 9_950_000 + round * 40_000 } else { 0 },
                    state,
                });
            }
        }
    }
    samples.sort_by_key(|sample| (sample.time, sample.track));
    samples
}

/// Three epochs of four batches on `track`, the last one still running.
fn spans(tables: &mut Interner, track: TrackId) -> Vec<Span> {
    const MS: u64 = 1_000_000;
    let names = ["epoch", "forward", "backward", "step"].map(|name| tables.string(name));
    let (size, text) = (tables.string("batch_size"), tables.string("cpu"));
    let device = tables.string("device");
    let mut spans = Vec::new();
    for epoch in 0..3 {
        let parent = Some(SpanId::from(spans.len()));
        let mut at = 10 * MS + epoch * 640 * MS;
        let mut add = |name, start, took: u64, parent, attributes| {
            spans.push(Span {
                parent,
                track,
                name,
                start: Time(start),
                end: Some(Time(start + took)),
                suspended_ns: 0,
                failed: false,
                attributes,
            });
        };
        add(names[0], at, 630 * MS, None, vec![(device, Value::Text(text))]);
        for _ in 0..4 {
            for (name, took) in names[1..].iter().zip([100, 45, 8]) {
                let took = took * MS + 137 * (epoch + 1);
                add(*name, at, took, parent, vec![(size, Value::Int(32))]);
                at += took;
            }
        }
    }
    (spans[26].end, spans[30].failed) = (None, true);
    spans
}

fn meta(mode: Mode, samples: &[Sample], cpu: u64) -> Meta {
    Meta {
        started_unix_ns: 1_790_000_000_000_000_000,
        duration_ns: 1_930_000_000,
        process_cpu_ns: cpu + 12_000_000,
        pid: 4242,
        command: vec!["train.py".to_owned(), "--epochs=3".to_owned()],
        python: Some(PythonInfo {
            version: "3.12.1".to_owned(),
            implementation: "CPython".to_owned(),
            executable: "/usr/bin/python3.12".to_owned(),
            free_threaded: false,
        }),
        machine: Machine {
            host: "lab".to_owned(),
            system: "Linux 6.1.0".to_owned(),
            architecture: "x86_64".to_owned(),
            cores: 2,
            memory_bytes: 16_000_000_000,
        },
        settings: Settings {
            cpu: Some(CpuSettings {
                mode,
                interval_ns: 10_000_000,
                trigger: Trigger::Tick,
                trigger_reason: "it suits every machine".to_owned(),
                native: true,
                max_depth: 512,
                memory_limit_bytes: 100_000_000,
                report: CpuReport {
                    samples: samples.len() as u64,
                    watched_cpu_ns: cpu,
                    ticks: 193,
                    median_lateness_ns: 60_000,
                    own_cpu_ns: cpu / 100,
                    sampling_cpu_ns: cpu / 250,
                    ..CpuReport::default()
                },
            }),
            ..Settings::default()
        },
        roots: Roots {
            working_directory: "/home/ada/job".to_owned(),
            script: TRAIN.to_owned(),
            standard_library: vec!["/usr/lib/python3.12".to_owned()],
            site_packages: vec!["/usr/lib/python3.12/site-packages".to_owned()],
        },
        ..Meta::default()
    }
}
