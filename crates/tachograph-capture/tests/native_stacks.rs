//! Native stacks of real code: a library without frame pointers, the C library,
//! zlib, a signal handler, a library that is gone when names are asked for.

mod native_library;

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use native_library::{Loaded, Scratch, build};
use tachograph_capture::native::{
    self, NativeSymbol, Symbolizer, Walked, Walker, capture_here, refresh,
};

/// A walk that a callback makes.
struct Walk {
    walker: Walker,
    words: [u64; 128],
    walked: Walked,
}

impl Walk {
    fn new() -> Self {
        refresh();
        Self { walker: Walker::new(), words: [0; 128], walked: Walked::default() }
    }

    fn data(&mut self) -> *mut c_void {
        std::ptr::from_mut(self).cast()
    }

    fn symbols(&self) -> Vec<Arc<NativeSymbol>> {
        Symbolizer::new().resolve(&self.words[..self.walked.depth])
    }

    fn names(&self) -> Vec<String> {
        self.symbols().iter().map(|symbol| symbol.function.clone()).collect()
    }
}

#[inline(never)]
extern "C" fn walk_here(data: *mut c_void) {
    // SAFETY: every caller here passes `Walk::data`, used by nobody meanwhile.
    let walk = unsafe { &mut *data.cast::<Walk>() };
    walk.walked = walk.walker.walk(&mut walk.words);
}

fn position(names: &[String], name: &str) -> usize {
    names.iter().position(|have| have == name).unwrap_or_else(|| panic!("no {name} in {names:#?}"))
}

#[test]
fn a_library_without_frame_pointers_is_walked_through() {
    let directory = Scratch::new("through");
    let library = Loaded::new(&build(&directory.0, "through", 333));
    let mut walk = Walk::new();

    library.call(walk_here, walk.data());

    let names = walk.names();
    assert!(walk.walked.complete, "{names:#?}");
    let inner = position(&names, "tachograph_test_inner");
    assert_eq!(position(&names, "tachograph_test_outer"), inner + 1);
    assert_eq!(position(&names, "hidden"), inner - 1, "a static function has a name too");
    assert!(names[inner + 2..].iter().any(|name| name.contains("walked_through")), "{names:#?}");
}

#[test]
fn a_library_that_is_gone_still_gives_its_frames_a_place() {
    let directory = Scratch::new("gone");
    let path = build(&directory.0, "gone", 100);
    let library = Loaded::new(&path);
    let mut walk = Walk::new();
    library.call(walk_here, walk.data());

    drop(library);
    refresh();
    let names = walk.names();
    std::fs::remove_file(&path).unwrap();
    let symbols = walk.symbols();

    position(&names, "tachograph_test_inner");
    let gone = symbols.iter().find(|symbol| symbol.module_path.ends_with("libgone.so")).unwrap();
    assert!(gone.function.starts_with("libgone.so+0x"), "{gone:?}");
    assert_eq!(gone.build_id.len(), 40);
    assert!(gone.module_base < gone.module_end);
}

#[test]
fn a_file_that_was_replaced_is_not_trusted_for_names() {
    let directory = Scratch::new("replaced");
    let path = build(&directory.0, "replaced", 100);
    let library = Loaded::new(&path);
    let mut walk = Walk::new();
    library.call(walk_here, walk.data());

    std::fs::remove_file(&path).unwrap();
    build(&directory.0, "replaced", 3000);
    let names = walk.names();

    assert!(!names.iter().any(|name| name == "tachograph_test_inner"), "{names:#?}");
    assert!(names.iter().any(|name| name.starts_with("libreplaced.so+0x")), "{names:#?}");
}

/// What `bsearch` compares with: walks, then says "equal".
extern "C" fn compare(key: *const c_void, _element: *const c_void) -> c_int {
    walk_here(key.cast_mut());
    0
}

#[test]
fn the_c_librarys_functions_have_their_names() {
    type Compare = extern "C" fn(*const c_void, *const c_void) -> c_int;
    unsafe extern "C" {
        fn bsearch(
            key: *const c_void,
            elements: *const c_void,
            count: usize,
            size: usize,
            compare: Compare,
        ) -> *mut c_void;
    }
    let mut walk = Walk::new();
    let elements = [1u64; 1];

    // SAFETY: one element of eight bytes; the key is only passed to `compare`.
    unsafe { bsearch(walk.data(), elements.as_ptr().cast(), 1, 8, compare) };

    let symbols = walk.symbols();
    let bsearch = symbols.iter().find(|symbol| symbol.function == "bsearch");
    let bsearch = bsearch.unwrap_or_else(|| panic!("{symbols:#?}"));
    assert!(bsearch.module_path.contains("libc.so"), "{bsearch:?}");
    assert!(bsearch.offset() > 0 && bsearch.offset() < 0x1000, "{bsearch:?}");
}

/// zlib's `z_stream`.
#[repr(C)]
#[derive(Default)]
struct ZStream {
    before: [u64; 8],
    allocate: Option<extern "C" fn(*mut c_void, u32, u32) -> *mut c_void>,
    free: usize,
    opaque: usize,
    after: [u64; 3],
}

/// What zlib allocates with: walks, then says "no memory".
extern "C" fn refuse(opaque: *mut c_void, _items: u32, _size: u32) -> *mut c_void {
    walk_here(opaque);
    std::ptr::null_mut()
}

#[test]
fn zlibs_functions_have_their_names() {
    let library = Loaded::new("libz.so.1".as_ref());
    let address = library.symbol(c"deflateInit_");
    // SAFETY: zlib has documented this signature since 1.0.
    let init: extern "C" fn(*mut ZStream, c_int, *const u8, c_int) -> c_int =
        unsafe { std::mem::transmute(address) };
    let mut walk = Walk::new();
    let mut stream = ZStream {
        allocate: Some(refuse),
        free: refuse as *const () as usize,
        opaque: walk.data() as usize,
        ..ZStream::default()
    };

    init(&raw mut stream, 6, c"1.2".as_ptr().cast(), size_of::<ZStream>() as c_int);

    let names = walk.names();
    let deflate = position(&names, "deflateInit2_");
    assert_eq!(position(&names, "deflateInit_"), deflate + 1, "{names:#?}");
}

static mut SIGNAL_WALK: *mut c_void = std::ptr::null_mut();

extern "C" fn on_signal(_signal: c_int) {
    // SAFETY: set before the signal is raised, by the thread that raises it.
    let walk = unsafe { SIGNAL_WALK };
    walk_here(walk);
}

extern "C" fn raise_signal(data: *mut c_void) {
    // SAFETY: only this test's thread uses it.
    unsafe { SIGNAL_WALK = data };
    // SAFETY: the handler is installed by the test.
    unsafe { libc::raise(libc::SIGUSR2) };
}

#[test]
fn a_walk_goes_through_a_signal_handler_to_what_it_interrupted() {
    let handler = on_signal as extern "C" fn(c_int) as usize;
    // SAFETY: the handler only walks its own stack.
    unsafe { libc::signal(libc::SIGUSR2, handler) };
    let directory = Scratch::new("signal");
    let library = Loaded::new(&build(&directory.0, "signal", 4000));
    let mut walk = Walk::new();

    library.call(raise_signal, walk.data());

    let names = walk.names();
    assert!(walk.walked.complete, "{names:#?}");
    assert!(position(&names, "tachograph_test_inner") > 3, "{names:#?}");
}

#[test]
fn a_captured_stack_begins_with_the_caller_and_keeps_to_its_limit() {
    assert!(native::available(), "{:?}", native::unavailable_reason());

    let frames = capture_here(128);
    let two = capture_here(2);

    assert!(frames[0].symbol.contains("a_captured_stack_begins"), "{frames:#?}");
    assert!(frames[0].offset > 0 && frames[0].filename.contains("native_stacks"));
    assert!(frames.len() > 5, "{frames:#?}");
    assert_eq!(two.len(), 2);
    assert_eq!(two[1], frames[1]);
    assert!(capture_here(0).is_empty());
}
