//! The Fortran interface: every argument by reference, and the lengths of
//! texts behind them, which are passed on whether they are there or not.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::linker::Hook;
use super::cblas::{hook, table};
use super::{counted, factors, product, size, solve};

type Any = *const c_void;

/// The hooks of one naming and one size of integers.
macro_rules! family {
    ($family:ident, $prefix:literal, $suffix:literal, $int:ty) => {
        mod $family {
            use super::*;

            type Size = *const $int;

            /// The size at an address.
            fn at(address: Size) -> u64 {
                // SAFETY: the caller passes the address of a number, as the
                // function it calls demands; null is answered with nothing.
                let number = unsafe { address.as_ref() };
                size(number.copied().unwrap_or(0).into())
            }

            gemm!(sgemm, 2);
            gemm!(dgemm, 2);
            gemm!(cgemm, 8);
            gemm!(zgemm, 8);
            gemv!(sgemv, 2);
            gemv!(dgemv, 2);
            gemv!(cgemv, 8);
            gemv!(zgemv, 8);
            syrk!(ssyrk, 1);
            syrk!(dsyrk, 1);
            syrk!(csyrk, 4);
            syrk!(zsyrk, 4);
            syrk!(cherk, 4);
            syrk!(zherk, 4);
            gesv!(sgesv, 1);
            gesv!(dgesv, 1);
            gesv!(cgesv, 4);
            gesv!(zgesv, 4);
            getrf!(sgetrf, 1);
            getrf!(dgetrf, 1);
            getrf!(cgetrf, 4);
            getrf!(zgetrf, 4);
            potrf!(spotrf, 1);
            potrf!(dpotrf, 1);
            potrf!(cpotrf, 4);
            potrf!(zpotrf, 4);
            getrs!(sgetrs, 2);
            getrs!(dgetrs, 2);
            getrs!(cgetrs, 8);
            getrs!(zgetrs, 8);
            potrs!(spotrs, 2);
            potrs!(dpotrs, 2);
            potrs!(cpotrs, 8);
            potrs!(zpotrs, 8);
            hook!(sdot(n: Size, x: Any, incx: Any, y: Any, incy: Any) -> f32, 2 * at(n));
            hook!(ddot(n: Size, x: Any, incx: Any, y: Any, incy: Any) -> f64, 2 * at(n));

            pub(super) static TABLE: [Hook; 36] = table!($prefix, $suffix,
                sgemm dgemm cgemm zgemm sgemv dgemv cgemv zgemv ssyrk dsyrk csyrk zsyrk cherk zherk
                sgesv dgesv cgesv zgesv sgetrf dgetrf cgetrf zgetrf spotrf dpotrf cpotrf zpotrf
                sgetrs dgetrs cgetrs zgetrs spotrs dpotrs cpotrs zpotrs sdot ddot);
        }
    };
}

macro_rules! gemm {
    ($name:ident, $each:literal) => {
        hook!($name(ta: Any, tb: Any, m: Size, n: Size, k: Size, alpha: Any, a: Any, lda: Any,
            b: Any, ldb: Any, beta: Any, c: Any, ldc: Any, la: usize, lb: usize),
            $each * product(&[at(m), at(n), at(k)]));
    };
}

macro_rules! gemv {
    ($name:ident, $each:literal) => {
        hook!($name(ta: Any, m: Size, n: Size, alpha: Any, a: Any, lda: Any, x: Any, incx: Any,
            beta: Any, y: Any, incy: Any, la: usize),
            $each * product(&[at(m), at(n)]));
    };
}

// Only one triangle of the result is computed.
macro_rules! syrk {
    ($name:ident, $each:literal) => {
        hook!($name(uplo: Any, t: Any, n: Size, k: Size, alpha: Any, a: Any, lda: Any, beta: Any,
            c: Any, ldc: Any, la: usize, lb: usize),
            $each * product(&[at(n), at(n) + 1, at(k)]));
    };
}

macro_rules! gesv {
    ($name:ident, $each:literal) => {
        hook!($name(n: Size, sides: Size, a: Any, lda: Any, pivots: Any, b: Any, ldb: Any,
            info: Any), $each * solve(at(n), at(sides)));
    };
}

macro_rules! getrf {
    ($name:ident, $each:literal) => {
        hook!($name(m: Size, n: Size, a: Any, lda: Any, pivots: Any, info: Any),
            $each * factors(at(m), at(n)));
    };
}

macro_rules! potrf {
    ($name:ident, $each:literal) => {
        hook!($name(uplo: Any, n: Size, a: Any, lda: Any, info: Any, la: usize),
            $each * product(&[at(n), at(n), at(n)]) / 3);
    };
}

macro_rules! getrs {
    ($name:ident, $each:literal) => {
        hook!($name(t: Any, n: Size, sides: Size, a: Any, lda: Any, pivots: Any, b: Any, ldb: Any,
            info: Any, la: usize), $each * product(&[at(n), at(n), at(sides)]));
    };
}

macro_rules! potrs {
    ($name:ident, $each:literal) => {
        hook!($name(uplo: Any, n: Size, sides: Size, a: Any, lda: Any, b: Any, ldb: Any, info: Any,
            la: usize), $each * product(&[at(n), at(n), at(sides)]));
    };
}

family!(plain, "", "_", i32);
family!(plain_64, "", "_64_", i64);
family!(scipy, "scipy_", "_", i32);
family!(scipy_64, "scipy_", "_64_", i64);

/// All of them.
pub(super) static TABLES: &[&[Hook]] =
    &[&plain::TABLE, &plain_64::TABLE, &scipy::TABLE, &scipy_64::TABLE];
