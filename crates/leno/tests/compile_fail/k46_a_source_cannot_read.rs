//@ says: no method named `read` found for struct `Bound<'f, Out<
// A chip that is declared as a source has no pin to read from: its type has no R.
use leno::fibre::chip::Source;

fn main() {
    let _: Source<u32> = Source::new("source", |cx, out| {
        let value: u32 = out.read(cx);
        out.write(cx, value);
    });
}
