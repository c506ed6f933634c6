//! A recording that somebody else ends, from another process.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::own;
use crate::session::Client;

/// A door that may be closed from several sides; whoever comes first takes it.
pub type Shared = Arc<Mutex<Option<Client>>>;

/// Finishes the recording of `door` as soon as the listener at `socket` sends
/// anything or goes away, on a thread of our own that needs no interpreter.
///
/// Says `recording` when it listens, and at the end `done` or `failed` with the
/// reason. A door that was closed here meanwhile is done.
///
/// # Errors
///
/// Nobody listens there, or no thread can be had.
pub fn finish_with(door: Shared, socket: &Path) -> Result<(), Error> {
    let denied = |source| Error::OutputDenied { path: socket.to_owned(), source };
    let mut line = UnixStream::connect(socket).map_err(denied)?;
    line.write_all(b"recording\n").map_err(denied)?;
    let wait = move || {
        let _ = line.read(&mut [0; 16]);
        let client = door.lock().unwrap_or_else(PoisonError::into_inner).take();
        let failed = client.and_then(|client| client.finish(&[]).file_error);
        let said = failed.map_or_else(|| "done\n".to_owned(), |why| format!("failed {why}\n"));
        let _ = line.write_all(said.as_bytes());
    };
    own::spawn("tacho-line", wait).map(drop).map_err(Error::NoThread)
}
