//! What can be attached to a span.

use tachograph_capture::spans::AttributeValue;

/// A value that can be attached to a span: numbers, truth values, texts, and
/// options of them.
pub trait AsAttribute {
    /// The value as a span keeps it.
    fn as_attribute(&self) -> AttributeValue<'_>;
}

macro_rules! whole_numbers {
    ($($kind:ty),*) => {$(
        impl AsAttribute for $kind {
            fn as_attribute(&self) -> AttributeValue<'_> {
                AttributeValue::Int(i64::from(*self))
            }
        }
    )*};
}

whole_numbers!(i8, i16, i32, i64, u8, u16, u32);

macro_rules! large_numbers {
    ($($kind:ty),*) => {$(
        impl AsAttribute for $kind {
            /// One that does not fit is kept as the nearest real number.
            fn as_attribute(&self) -> AttributeValue<'_> {
                i64::try_from(*self)
                    .map_or(AttributeValue::Float(*self as f64), AttributeValue::Int)
            }
        }
    )*};
}

large_numbers!(i128, isize, u64, u128, usize);

impl AsAttribute for f32 {
    fn as_attribute(&self) -> AttributeValue<'_> {
        AttributeValue::Float(f64::from(*self))
    }
}

impl AsAttribute for f64 {
    fn as_attribute(&self) -> AttributeValue<'_> {
        AttributeValue::Float(*self)
    }
}

impl AsAttribute for bool {
    fn as_attribute(&self) -> AttributeValue<'_> {
        AttributeValue::Bool(*self)
    }
}

impl AsAttribute for str {
    fn as_attribute(&self) -> AttributeValue<'_> {
        AttributeValue::Text(self)
    }
}

impl AsAttribute for String {
    fn as_attribute(&self) -> AttributeValue<'_> {
        AttributeValue::Text(self)
    }
}

impl<T: AsAttribute + ?Sized> AsAttribute for &T {
    fn as_attribute(&self) -> AttributeValue<'_> {
        (**self).as_attribute()
    }
}

impl<T: AsAttribute> AsAttribute for Option<T> {
    fn as_attribute(&self) -> AttributeValue<'_> {
        self.as_ref().map_or(AttributeValue::None, AsAttribute::as_attribute)
    }
}
