//! The bytes of the images in flight, by the form in which they are.

/// The form of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// As it was fetched.
    Compressed,
    /// As pixels, which is many times as large.
    Decoded,
}

/// What the images in flight hold. An image is compressed until the next stage can take what is decoded of it, and holds
/// both while it is being decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BytesInFlight {
    compressed: u64,
    decoded: u64,
    peak: u64,
    decoded_peak: u64,
}

impl BytesInFlight {
    /// Memory is taken for an image in that form.
    pub fn take(&mut self, form: Form, bytes: u64) {
        match form {
            Form::Compressed => self.compressed += bytes,
            Form::Decoded => self.decoded += bytes,
        }
        self.peak = self.peak.max(self.compressed + self.decoded);
        self.decoded_peak = self.decoded_peak.max(self.decoded);
    }

    /// The memory of an image in that form is given back.
    ///
    /// # Panics
    ///
    /// Where more is given back than was taken.
    pub fn give_back(&mut self, form: Form, bytes: u64) {
        let held = match form {
            Form::Compressed => &mut self.compressed,
            Form::Decoded => &mut self.decoded,
        };
        *held = held.checked_sub(bytes).expect("what is given back was taken");
    }

    /// Bytes of that form now.
    #[must_use]
    pub const fn of(&self, form: Form) -> u64 {
        match form {
            Form::Compressed => self.compressed,
            Form::Decoded => self.decoded,
        }
    }

    /// The most bytes at one time so far, of both forms together.
    #[must_use]
    pub const fn peak(&self) -> u64 {
        self.peak
    }

    /// The most decoded bytes at one time so far.
    #[must_use]
    pub const fn decoded_peak(&self) -> u64 {
        self.decoded_peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_is_decoded_holds_both_for_a_while() {
        let mut bytes = BytesInFlight::default();
        bytes.take(Form::Compressed, 10);
        bytes.take(Form::Compressed, 10);
        bytes.take(Form::Decoded, 100);
        bytes.give_back(Form::Compressed, 10);
        assert_eq!((bytes.of(Form::Compressed), bytes.of(Form::Decoded)), (10, 100));
        bytes.give_back(Form::Decoded, 100);
        bytes.give_back(Form::Compressed, 10);
        assert_eq!((bytes.of(Form::Compressed), bytes.of(Form::Decoded)), (0, 0));
        assert_eq!((bytes.peak(), bytes.decoded_peak()), (120, 100));
    }
}
