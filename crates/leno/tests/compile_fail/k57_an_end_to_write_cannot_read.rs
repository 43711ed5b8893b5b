//@ says: no method named `read` found for struct `Out<
fn main() {
    leno::run(|cx| {
        let (out, _inp) = leno::fibre::channel::<u32>();
        out.read(cx);
    });
}
