//! The C interface: sizes by value.
//!
//! OpenBLAS of numpy's and scipy's wheels puts `scipy_` before a name, and
//! `64_` behind it where sizes have 64 bits.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::linker::Hook;
use super::{counted, product, size};

type Array = *const c_void;

/// A hook that counts `$count` and calls the real function.
macro_rules! hook {
    ($name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?, $count:expr) => {
        pub(super) mod $name {
            #[allow(unused_imports, reason = "not every function needs all of them")]
            use super::*;

            pub(super) static REAL: AtomicUsize = AtomicUsize::new(0);

            #[allow(unused_variables, reason = "not every argument is a size")]
            pub(super) unsafe extern "C" fn hook($($arg: $type),*) $(-> $result)? {
                type Real = unsafe extern "C" fn($($type),*) $(-> $result)?;
                let real = REAL.load(Ordering::Acquire);
                // SAFETY: the scanner writes a hook only once it knows the function that
                // was there, which has this name and so this signature.
                let real = unsafe { std::mem::transmute::<usize, Real>(real) };
                // SAFETY: the arguments are the caller's own.
                counted(|| $count, || unsafe { real($($arg),*) })
            }
        }
    };
}

/// The hooks of one naming and one size of integers.
macro_rules! family {
    ($family:ident, $prefix:literal, $suffix:literal, $int:ty) => {
        mod $family {
            use super::*;

            type Int = $int;

            hook!(sgemm(order: i32, ta: i32, tb: i32, m: Int, n: Int, k: Int, alpha: f32, a: Array,
                lda: Int, b: Array, ldb: Int, beta: f32, c: Array, ldc: Int),
                2 * product(&[size(m.into()), size(n.into()), size(k.into())]));
            hook!(dgemm(order: i32, ta: i32, tb: i32, m: Int, n: Int, k: Int, alpha: f64, a: Array,
                lda: Int, b: Array, ldb: Int, beta: f64, c: Array, ldc: Int),
                2 * product(&[size(m.into()), size(n.into()), size(k.into())]));
            hook!(cgemm(order: i32, ta: i32, tb: i32, m: Int, n: Int, k: Int, alpha: Array, a: Array,
                lda: Int, b: Array, ldb: Int, beta: Array, c: Array, ldc: Int),
                8 * product(&[size(m.into()), size(n.into()), size(k.into())]));
            hook!(zgemm(order: i32, ta: i32, tb: i32, m: Int, n: Int, k: Int, alpha: Array, a: Array,
                lda: Int, b: Array, ldb: Int, beta: Array, c: Array, ldc: Int),
                8 * product(&[size(m.into()), size(n.into()), size(k.into())]));
            hook!(sgemv(order: i32, ta: i32, m: Int, n: Int, alpha: f32, a: Array, lda: Int,
                x: Array, incx: Int, beta: f32, y: Array, incy: Int),
                2 * product(&[size(m.into()), size(n.into())]));
            hook!(dgemv(order: i32, ta: i32, m: Int, n: Int, alpha: f64, a: Array, lda: Int,
                x: Array, incx: Int, beta: f64, y: Array, incy: Int),
                2 * product(&[size(m.into()), size(n.into())]));
            hook!(cgemv(order: i32, ta: i32, m: Int, n: Int, alpha: Array, a: Array, lda: Int,
                x: Array, incx: Int, beta: Array, y: Array, incy: Int),
                8 * product(&[size(m.into()), size(n.into())]));
            hook!(zgemv(order: i32, ta: i32, m: Int, n: Int, alpha: Array, a: Array, lda: Int,
                x: Array, incx: Int, beta: Array, y: Array, incy: Int),
                8 * product(&[size(m.into()), size(n.into())]));
            // Only one triangle of the result is computed.
            hook!(ssyrk(order: i32, uplo: i32, t: i32, n: Int, k: Int, alpha: f32, a: Array,
                lda: Int, beta: f32, c: Array, ldc: Int),
                product(&[size(n.into()), size(n.into()) + 1, size(k.into())]));
            hook!(dsyrk(order: i32, uplo: i32, t: i32, n: Int, k: Int, alpha: f64, a: Array,
                lda: Int, beta: f64, c: Array, ldc: Int),
                product(&[size(n.into()), size(n.into()) + 1, size(k.into())]));
            hook!(csyrk(order: i32, uplo: i32, t: i32, n: Int, k: Int, alpha: Array, a: Array,
                lda: Int, beta: Array, c: Array, ldc: Int),
                4 * product(&[size(n.into()), size(n.into()) + 1, size(k.into())]));
            hook!(zsyrk(order: i32, uplo: i32, t: i32, n: Int, k: Int, alpha: Array, a: Array,
                lda: Int, beta: Array, c: Array, ldc: Int),
                4 * product(&[size(n.into()), size(n.into()) + 1, size(k.into())]));
            hook!(sdot(n: Int, x: Array, incx: Int, y: Array, incy: Int) -> f32,
                2 * size(n.into()));
            hook!(ddot(n: Int, x: Array, incx: Int, y: Array, incy: Int) -> f64,
                2 * size(n.into()));
            hook!(cdotu_sub(n: Int, x: Array, incx: Int, y: Array, incy: Int, out: Array),
                8 * size(n.into()));
            hook!(zdotu_sub(n: Int, x: Array, incx: Int, y: Array, incy: Int, out: Array),
                8 * size(n.into()));
            hook!(cdotc_sub(n: Int, x: Array, incx: Int, y: Array, incy: Int, out: Array),
                8 * size(n.into()));
            hook!(zdotc_sub(n: Int, x: Array, incx: Int, y: Array, incy: Int, out: Array),
                8 * size(n.into()));

            pub(super) static TABLE: [Hook; 18] = table!($prefix, $suffix,
                sgemm dgemm cgemm zgemm sgemv dgemv cgemv zgemv ssyrk dsyrk csyrk zsyrk
                sdot ddot cdotu_sub zdotu_sub cdotc_sub zdotc_sub);
        }
    };
}

/// The hooks of functions by the names that one naming gives them.
macro_rules! table {
    ($prefix:literal, $suffix:literal, $($name:ident)*) => {
        [$(Hook::new(
            match std::ffi::CStr::from_bytes_with_nul(
                concat!($prefix, stringify!($name), $suffix, "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => c"",
            },
            $name::hook as *const (),
            &$name::REAL,
        )),*]
    };
}
pub(super) use {hook, table};

family!(plain, "cblas_", "", i32);
family!(plain_64, "cblas_", "64_", i64);
family!(scipy, "scipy_cblas_", "", i32);
family!(scipy_64, "scipy_cblas_", "64_", i64);

/// All of them.
pub(super) static TABLES: &[&[Hook]] =
    &[&plain::TABLE, &plain_64::TABLE, &scipy::TABLE, &scipy_64::TABLE];
