//! Typed indices: an id is the position of a thing in its table.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the table.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            /// Tables hold fewer than 2^32 rows; a larger index saturates and
            /// fails `Profile::check`.
            fn from(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }
        }
    };
}

id!(
    /// A string, by position in [`Tables::strings`](super::Tables::strings).
    StringId
);
id!(
    /// A frame, by position in [`Tables::frames`](super::Tables::frames).
    FrameId
);
id!(
    /// A whole stack, by the position of its leaf in [`Tables::stacks`](super::Tables::stacks).
    StackId
);
id!(
    /// A mapped object file, by position in [`Tables::mappings`](super::Tables::mappings).
    MappingId
);
id!(
    /// A track, by position in [`Tables::tracks`](super::Tables::tracks).
    TrackId
);
id!(
    /// A series of numbers, by position in [`Tables::series`](super::Tables::series).
    SeriesId
);
id!(
    /// A span, by position in [`Profile::spans`](super::Profile::spans).
    SpanId
);
