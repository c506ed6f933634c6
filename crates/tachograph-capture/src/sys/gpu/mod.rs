//! Vendors' driver libraries, loaded at run time, each behind safe functions.

pub(crate) mod cuda;
mod library;
pub(crate) mod nvml;

/// What a driver answered in place of a value: its error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) i32);

/// The library does not have the function: an older driver.
pub(crate) const NO_FUNCTION: Code = Code(-1);

/// A driver's answer: 0 is success.
fn checked(code: i32) -> Result<(), Code> {
    if code == 0 { Ok(()) } else { Err(Code(code)) }
}

/// Declares the functions of a library: looked up once, each may be missing.
macro_rules! functions {
    ($(#[$about:meta])* $table:ident { $($field:ident = $symbol:literal ($($kind:ty),* $(,)?);)* }) => {
        $(#[$about])*
        #[derive(Debug)]
        struct $table {
            $($field: Option<unsafe extern "C" fn($($kind),*) -> i32>,)*
        }

        impl $table {
            fn find(library: &super::library::Library) -> Self {
                Self {
                    $($field: library.address($symbol).map(|address| {
                        // SAFETY: the vendor's header gives this symbol this
                        // signature, and the library is never unloaded.
                        unsafe {
                            std::mem::transmute::<
                                *mut std::ffi::c_void,
                                unsafe extern "C" fn($($kind),*) -> i32,
                            >(address)
                        }
                    }),)*
                }
            }
        }
    };
}
use functions;
