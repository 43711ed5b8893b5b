//! Every construct of the language that may suspend: the same source as a plain `async fn` and as a
//! resumable one gives the same values, the same result and the same effects in the same order, also if it
//! is stored and restored at every suspension.
#![forbid(unsafe_code)]

both! {
    straight: 7; {
        async fn main(co: &mut H, n: i64) -> i64 {
            log!(co, "start {n}");
            let a = co.suspend(n).await;
            log!(co, "a={a}");
            let b = co.suspend(a + 1).await;
            let sum = a + b;
            log!(co, "sum={sum}");
            let c = co.suspend(sum).await;
            a * 100 + b * 10 + c
        }
    }
    shadowing: 1; {
        async fn main(co: &mut H, x: i64) -> String {
            let x = co.suspend(x).await;
            let x = format!("<{x}>");
            let y = co.suspend(x.len() as i64).await;
            let x = x + &y.to_string();
            co.suspend(0).await;
            { let x = 5; log!(co, "{x}"); }
            x
        }
    }
    if_else: 2; {
        async fn main(co: &mut H, n: i64) -> i64 {
            let mut acc = n;
            if co.suspend(1).await > 2 {
                acc += co.suspend(10).await;
                log!(co, "then {acc}");
            } else if acc > 1 {
                acc -= co.suspend(20).await;
            } else {
                acc = 0;
            }
            if acc % 2 == 0 { co.suspend(-1).await; }
            let r = if acc > 3 { let k = co.suspend(acc).await; k * 2 } else { co.suspend(-acc).await };
            r + acc
        }
    }
    matches: 3; {
        async fn main(co: &mut H, n: i64) -> String {
            let mut out = String::new();
            for i in 0..n + 2 {
                let part = match (i, co.suspend(i).await) {
                    (0, v) if v > 2 => { let w = co.suspend(v).await; format!("a{v}{w}") }
                    (1, v) => format!("plain{v}"),
                    (2, mut v) => { v += 1; co.suspend(v).await; v += 1; co.suspend(v).await; v.to_string() }
                    (_, 9) => break,
                    (k, v @ 1..=5) => { log!(co, "range"); let z = co.suspend(k + v).await; format!("r{k}{v}{z}") }
                    _ => continue,
                };
                out.push_str(&part);
            }
            out
        }
    }
    loops: 3; {
        async fn main(co: &mut H, n: i64) -> i64 {
            let mut total = 0;
            let mut i = 0;
            while i < n {
                let mut j = 0;
                while j < 2 { total += co.suspend(i * 10 + j).await; j += 1; }
                i += 1;
            }
            let found = loop {
                let v = co.suspend(total).await;
                if v > 7 { break v; }
                if v == 5 { continue; }
                total += v;
            };
            total + found
        }
    }
    labels: 4; {
        async fn main(co: &mut H, n: i64) -> Vec<i64> {
            let mut seen = vec![];
            'outer: for i in 0..n {
                for j in 0..=i {
                    let v = co.suspend(i * 10 + j).await;
                    seen.push(v);
                    match v {
                        1 => continue 'outer,
                        9 => break 'outer,
                        2 => break,
                        _ => {}
                    }
                    if v == 4 { continue; }
                    log!(co, "{i}/{j}");
                }
                seen.push(-i);
            }
            let b = 'blk: {
                if co.suspend(1).await > 3 { break 'blk 1; }
                if co.suspend(2).await > 3 { break 'blk 2; }
                3
            };
            seen.push(b);
            seen
        }
    }
    for_loops: vec![(1i64, "a".to_string()), (2, "b".to_string()), (3, "c".to_string())]; {
        async fn main(co: &mut H, items: Vec<(i64, String)>) -> String {
            let mut s = String::new();
            for (n, t) in items {
                let k = co.suspend(n).await;
                s += &format!("{t}{k}");
            }
            for c in [10i64, 20] { for d in 1..=2i64 { s += &co.suspend(c + d).await.to_string(); } }
            if let Some(x) = Some(4i64) { s += &co.suspend(x).await.to_string(); }
            for x in Some(5i64) { s += &co.suspend(x).await.to_string(); }
            s
        }
    }
    question: 5; {
        async fn inner(co: &mut H, k: i64) -> Result<i64, String> {
            let v = co.suspend(k).await;
            if v > 5 { return Err(format!("too big: {v}")); }
            let w: i64 = format!("{v}").parse().map_err(|e| format!("{e:?}"))?;
            Ok(w * 2)
        }
        async fn main(co: &mut H, n: i64) -> Result<i64, String> {
            let mut t = 0;
            let mut i = 0;
            while i < n {
                t += inner(co, i).await?;
                log!(co, "t={t}");
                i += 1;
            }
            let Some(x) = (if t > 0 { Some(t) } else { None }) else { return Err("none".into()) };
            Ok(x + inner(co, 99).await.unwrap_or(0))
        }
    }
    opt_question: 5; {
        async fn half(co: &mut H, k: i64) -> Option<i64> { let v = co.suspend(k).await; (v % 3 != 0).then_some(v / 2) }
        async fn main(co: &mut H, n: i64) -> Option<i64> {
            let a = half(co, n).await.or(Some(1))?;
            let b = half(co, a).await?;
            Some(a + b + half(co, b).await?)
        }
    }
    let_else: 5; {
        async fn main(co: &mut H, n: i64) -> i64 {
            let Some(a) = Some(co.suspend(n).await).filter(|v| *v > 2) else { return -1 };
            let (Ok(b) | Err(b)) = (if a > 3 { Ok(a) } else { Err(co.suspend(a).await) });
            let Some(mut c) = Some(b).filter(|x| *x > 2) else { let k = co.suspend(7).await; return k };
            c += co.suspend(c).await;
            a + b + c
        }
    }
    if_let: 5; {
        async fn main(co: &mut H, n: i64) -> String {
            let mut o = Some(String::from("x"));
            let mut out = String::new();
            if let Some(s) = &o && s.len() as i64 <= n { out += s; co.suspend(1).await; }
            if let Some(s) = o.take() { let k = co.suspend(2).await; out += &s; out += &k.to_string(); }
            if let Some(s) = o { out += &s; } else { out += &co.suspend(3).await.to_string(); }
            while let Some(v) = Some(co.suspend(4).await).filter(|v| *v < 6) { out += &co.suspend(v).await.to_string(); }
            out
        }
    }
    expr_stack: 5; {
        async fn main(co: &mut H, n: i64) -> Vec<i64> {
            let mut v = vec![n];
            let a = side(co.ctx(), 1) + co.suspend(2).await * side(co.ctx(), 3);
            v.push(co.suspend(a).await);
            let t = (side(co.ctx(), 4), co.suspend(5).await, co.suspend(6).await);
            let arr = [t.0, co.suspend(7).await, t.1 + t.2];
            v.extend(arr);
            let k = co.suspend(8).await as usize % 3;
            v[k] += 100 + co.suspend(9).await;
            let b = co.suspend(10).await > 3 && co.suspend(11).await > 3;
            let c = b || co.suspend(12).await > 100 || co.suspend(13).await > 0;
            v.push((b as i64) * 2 + c as i64);
            v.push(i64::max(co.suspend(14).await, co.suspend(15).await));
            let r = co.suspend(16).await..co.suspend(17).await + 20;
            v.push(r.end - r.start);
            v.push(-co.suspend(18).await);
            v.push({ let z = co.suspend(19).await; z + 1 });
            v
        }
    }
    moves: 5; {
        async fn eat(co: &mut H, s: String) -> i64 { let k = co.suspend(s.len() as i64).await; k + s.len() as i64 }
        async fn main(co: &mut H, n: i64) -> i64 {
            let order = format!("order-{n}");
            let mut buf = String::from("b");
            let mut tries = 0;
            loop {
                let cmd = co.suspend(tries).await;
                tries += 1;
                match cmd {
                    1 | 2 => buf.push('x'),
                    3 => { buf = { let r = eat(co, buf).await; format!("{r}") }; }
                    5 => { let r = eat(co, order).await; log!(co, "{buf}"); return r + tries; }
                    8 => { let r = eat(co, order).await; return r - tries; }
                    4 if tries > 2 => continue,
                    _ => { log!(co, "other {cmd} {order}"); }
                }
                if tries > 30 { break }
            }
            drop(order);
            buf.len() as i64
        }
    }
    branch_moves: 5; {
        async fn eat(co: &mut H, s: String) -> i64 { co.suspend(s.len() as i64).await }
        async fn main(co: &mut H, n: i64) -> i64 {
            let a = "aa".to_string();
            let b = "bbb".to_string();
            let r = if co.suspend(n).await > 2 {
                let x = eat(co, a).await;
                let y = co.suspend(x).await;
                x + y + b.len() as i64
            } else {
                let x = eat(co, b).await;
                x + a.len() as i64
            };
            let c = "cc".to_string();
            if r == 4 { eat(co, c).await; return 0; }
            r + c.len() as i64
        }
    }
    deferred: 5; {
        async fn main(co: &mut H, n: i64) -> String {
            let label;
            let extra: String;
            if co.suspend(n).await > 2 { label = co.suspend(1).await; extra = "p".into(); } else { label = 0; extra = co.suspend(2).await.to_string(); }
            co.suspend(3).await;
            let mut last = 0;
            for i in 0..3i64 { last = co.suspend(i).await; }
            format!("{label}{extra}{last}")
        }
    }
    borrows: vec![5i64, 6, 7]; {
        async fn main(co: &mut H, v: Vec<i64>) -> i64 {
            let mut words = vec!["a".to_string(), "bb".to_string()];
            let first = &v[0];
            let s = *first + words.len() as i64;
            let k = co.suspend(s).await;
            let r = match &words[0] { w if w.len() > 5 => co.suspend(0).await, w => { let l = w.len() as i64; co.suspend(l).await } };
            words[1].push_str("c");
            let last = words.last().map(|w| w.len()).unwrap_or(0);
            let total: i64 = v.iter().sum::<i64>() + words.iter().map(|w| w.len() as i64).sum::<i64>();
            co.suspend(total).await;
            let slice = &mut words[..];
            slice.reverse();
            let f = |x: i64| x + k + r;
            f(total) + last as i64
        }
    }
    nested_blocks: 5; {
        async fn main(co: &mut H, n: i64) -> i64 {
            let a = { let t = co.suspend(n).await; { let u = co.suspend(t).await; t + u } };
            let b = { if a > 3 { { co.suspend(a).await } } else { 0 } };
            { co.suspend(b).await; }
            let v: Vec<i64> = { let mut v = Vec::new(); v.push(a); v.push(co.suspend(1).await); v };
            a + b + v.iter().sum::<i64>()
        }
    }
    infer: 5; {
        async fn main(co: &mut H, n: i64) -> f64 {
            let mut xs = Vec::new();
            let mut m = std::collections::BTreeMap::new();
            let mut best = None;
            let mut i = 0;
            while i < 4 {
                let v = co.suspend(n + i).await;
                xs.push(v as f64 / 2.0);
                *m.entry(v.to_string()).or_default() += v as u8;
                if best.is_none_or(|b| v > b) { best = Some(v); }
                i += 1;
            }
            let (a, b) = (xs.len(), m.values().map(|x: &u8| *x as usize).sum::<usize>());
            co.suspend(a as i64).await;
            xs.iter().sum::<f64>() + b as f64 + best.unwrap() as f64
        }
    }
    unit_and_calls: 5; {
        async fn leaf(co: &mut H, d: i64, tag: &'static str) { log!(co, "leaf {tag}"); co.suspend(d).await; }
        async fn mid(co: &mut H, d: i64) -> i64 { leaf(co, d, "m").await; leaf(co, d + 1, "n").await; co.suspend(d + 2).await }
        async fn main(co: &mut H, n: i64) {
            let mut k = 0;
            while k < 3 { let r = mid(co, n * 10 + k).await; log!(co, "{r}"); k += 1 }
            leaf(co, 0, "end").await
        }
    }
    consts_items: 5; {
        async fn main(co: &mut H, n: i64) -> i64 {
            const K: i64 = 7;
            fn twice(x: i64) -> i64 { x * 2 }
            let a = co.suspend(twice(n)).await;
            let b = co.suspend(K + a).await;
            use std::cmp::max;
            max(twice(a), twice(b)) + K
        }
    }
    macros_in_body: 5; {
        async fn main(co: &mut H, n: i64) -> String {
            let v = vec![n, n + 1];
            let k = co.suspend(v.len() as i64).await;
            let t = format!("{k:>3} {:?} {n}", v);
            assert!(t.len() > 1, "{t}");
            co.suspend(1).await;
            let m = matches!(v.first(), Some(x) if *x > 2);
            format!("{t} {m}")
        }
    }
    while_move_reassign: 5; {
        async fn ask(co: &mut H, q: String) -> i64 { co.suspend(q.len() as i64).await }
        async fn main(co: &mut H, n: i64) -> String {
            let mut q = String::from("?");
            let mut n = n;
            while n > 0 {
                let a = ask(co, q).await;
                if a == 4 { q = String::new(); continue; }
                if a == 9 { q = "nine".into(); break; }
                q = format!("{a}!{n}");
                n -= 1;
            }
            q
        }
    }
    diverging: 5; {
        async fn main(co: &mut H, n: i64) -> i64 {
            let r = match co.suspend(n).await {
                0 => unreachable!(),
                1 => return 1,
                v if v > 8 => panic!("no"),
                v => { let w = co.suspend(v).await; if w > 6 { return w } w }
            };
            loop { let z = co.suspend(r).await; if z == 9 { return z } }
        }
    }
    operand_order: 4; {
        async fn main(co: &mut H, n: i64) -> i64 {
            let mut m = n;
            let a = m + { m = 7; co.suspend(m).await } + m;
            let b = (m, { m += 1; co.suspend(m).await }, m);
            a * 1000 + b.0 * 100 + b.1 * 10 + b.2
        }
    }
    deferred_in_match: 4; {
        async fn main(co: &mut H, n: i64) -> i64 {
            let label;
            match co.suspend(n).await {
                1 | 3 => label = 10,
                4 => label = co.suspend(5).await,
                _ => { log!(co, "other"); label = 0 }
            }
            let late;
            if let Some(x) = Some(label).filter(|x| *x > 3) { late = x; } else { late = co.suspend(9).await; }
            co.suspend(label).await + label + late
        }
    }
    let_with_attributes: 4; {
        async fn main(co: &mut H, n: i64) -> i64 {
            #[allow(unused_variables)]
            let unused = co.suspend(n).await;
            #[rustfmt::skip]
            let kept   =   co.suspend(2).await;
            co.suspend(3).await + kept
        }
    }
    while_let_chain: 4; {
        async fn main(co: &mut H, n: i64) -> i64 {
            let mut todo = vec![n, 2, 3];
            let mut sum = 0;
            while let Some(x) = todo.pop() && sum < 50 {
                sum += x * co.suspend(x).await;
                if sum % 7 == 0 { todo.push(1); }
            }
            sum
        }
    }
    struct_literal: 4; {
        async fn main(co: &mut H, n: i64) -> (i64, String) {
            #[derive(serde::Serialize, serde::Deserialize, Default)]
            struct P { a: i64, b: String, c: (i64,) }
            let base = P { b: "x".into(), ..Default::default() };
            let a = co.suspend(n).await;
            let p = P { a, c: (co.suspend(2).await,), ..base };
            let q = P { a: side(co.ctx(), 1), b: format!("{}", p.a), c: (co.suspend(3).await,) };
            (p.a + p.c.0 + q.a + q.c.0, p.b + &q.b)
        }
    }
    many_locals: 4; {
        async fn main(co: &mut H, n: i64) -> i64 {
            let x0 = n + 0; let x1 = n + 1; let x2 = n + 2; let x3 = n + 3; let x4 = n + 4; let x5 = n + 5; let x6 = n + 6; let x7 = n + 7; let x8 = n + 8; let x9 = n + 9; let x10 = n + 10; let x11 = n + 11; let x12 = n + 12; let x13 = n + 13; let x14 = n + 14; let x15 = n + 15; let x16 = n + 16; let x17 = n + 17; let x18 = n + 18; let x19 = n + 19; let x20 = n + 20; let x21 = n + 21; let x22 = n + 22; let x23 = n + 23; let x24 = n + 24; let x25 = n + 25; let x26 = n + 26; let x27 = n + 27; let x28 = n + 28; let x29 = n + 29; let x30 = n + 30; let x31 = n + 31; let x32 = n + 32; let x33 = n + 33; let x34 = n + 34; let x35 = n + 35; let x36 = n + 36; let x37 = n + 37; let x38 = n + 38; let x39 = n + 39; let x40 = n + 40; let x41 = n + 41; let x42 = n + 42; let x43 = n + 43; let x44 = n + 44; let x45 = n + 45; let x46 = n + 46; let x47 = n + 47; let x48 = n + 48; let x49 = n + 49; let x50 = n + 50; let x51 = n + 51; let x52 = n + 52; let x53 = n + 53; let x54 = n + 54; let x55 = n + 55; let x56 = n + 56; let x57 = n + 57; let x58 = n + 58; let x59 = n + 59; let x60 = n + 60; let x61 = n + 61; let x62 = n + 62; let x63 = n + 63; let x64 = n + 64; let x65 = n + 65; let x66 = n + 66; let x67 = n + 67; let x68 = n + 68; let x69 = n + 69; let x70 = n + 70; let x71 = n + 71; let x72 = n + 72; let x73 = n + 73; let x74 = n + 74; let x75 = n + 75; let x76 = n + 76; let x77 = n + 77; let x78 = n + 78; let x79 = n + 79; let x80 = n + 80; let x81 = n + 81; let x82 = n + 82; let x83 = n + 83; let x84 = n + 84; let x85 = n + 85; let x86 = n + 86; let x87 = n + 87; let x88 = n + 88; let x89 = n + 89; let x90 = n + 90; let x91 = n + 91; let x92 = n + 92; let x93 = n + 93; let x94 = n + 94; let x95 = n + 95; let x96 = n + 96; let x97 = n + 97; let x98 = n + 98; let x99 = n + 99; let x100 = n + 100; let x101 = n + 101; let x102 = n + 102; let x103 = n + 103; let x104 = n + 104; let x105 = n + 105; let x106 = n + 106; let x107 = n + 107; let x108 = n + 108; let x109 = n + 109; let x110 = n + 110; let x111 = n + 111; let x112 = n + 112; let x113 = n + 113; let x114 = n + 114; let x115 = n + 115; let x116 = n + 116; let x117 = n + 117; let x118 = n + 118; let x119 = n + 119; let x120 = n + 120; let x121 = n + 121; let x122 = n + 122; let x123 = n + 123; let x124 = n + 124; let x125 = n + 125; let x126 = n + 126; let x127 = n + 127; let x128 = n + 128; let x129 = n + 129; let x130 = n + 130; let x131 = n + 131; let x132 = n + 132; let x133 = n + 133; let x134 = n + 134; let x135 = n + 135; let x136 = n + 136; let x137 = n + 137; let x138 = n + 138; let x139 = n + 139; let x140 = n + 140; let x141 = n + 141; let x142 = n + 142; let x143 = n + 143; let x144 = n + 144; let x145 = n + 145; let x146 = n + 146; let x147 = n + 147; let x148 = n + 148; let x149 = n + 149; let x150 = n + 150; let x151 = n + 151; let x152 = n + 152; let x153 = n + 153; let x154 = n + 154; let x155 = n + 155; let x156 = n + 156; let x157 = n + 157; let x158 = n + 158; let x159 = n + 159; let x160 = n + 160; let x161 = n + 161; let x162 = n + 162; let x163 = n + 163; let x164 = n + 164; let x165 = n + 165; let x166 = n + 166; let x167 = n + 167; let x168 = n + 168; let x169 = n + 169; let x170 = n + 170; let x171 = n + 171; let x172 = n + 172; let x173 = n + 173; let x174 = n + 174; let x175 = n + 175; let x176 = n + 176; let x177 = n + 177; let x178 = n + 178; let x179 = n + 179; let x180 = n + 180; let x181 = n + 181; let x182 = n + 182; let x183 = n + 183; let x184 = n + 184; let x185 = n + 185; let x186 = n + 186; let x187 = n + 187; let x188 = n + 188; let x189 = n + 189; let x190 = n + 190; let x191 = n + 191; let x192 = n + 192; let x193 = n + 193; let x194 = n + 194; let x195 = n + 195; let x196 = n + 196; let x197 = n + 197; let x198 = n + 198; let x199 = n + 199; let x200 = n + 200; let x201 = n + 201; let x202 = n + 202; let x203 = n + 203; let x204 = n + 204; let x205 = n + 205; let x206 = n + 206; let x207 = n + 207; let x208 = n + 208; let x209 = n + 209; let x210 = n + 210; let x211 = n + 211; let x212 = n + 212; let x213 = n + 213; let x214 = n + 214; let x215 = n + 215; let x216 = n + 216; let x217 = n + 217; let x218 = n + 218; let x219 = n + 219; let x220 = n + 220; let x221 = n + 221; let x222 = n + 222; let x223 = n + 223; let x224 = n + 224; let x225 = n + 225; let x226 = n + 226; let x227 = n + 227; let x228 = n + 228; let x229 = n + 229; let x230 = n + 230; let x231 = n + 231; let x232 = n + 232; let x233 = n + 233; let x234 = n + 234; let x235 = n + 235; let x236 = n + 236; let x237 = n + 237; let x238 = n + 238; let x239 = n + 239; let x240 = n + 240; let x241 = n + 241; let x242 = n + 242; let x243 = n + 243; let x244 = n + 244; let x245 = n + 245; let x246 = n + 246; let x247 = n + 247; let x248 = n + 248; let x249 = n + 249; let x250 = n + 250; let x251 = n + 251; let x252 = n + 252; let x253 = n + 253; let x254 = n + 254; let x255 = n + 255; let x256 = n + 256; let x257 = n + 257; let x258 = n + 258; let x259 = n + 259; let x260 = n + 260; let x261 = n + 261; let x262 = n + 262; let x263 = n + 263; let x264 = n + 264; let x265 = n + 265; let x266 = n + 266; let x267 = n + 267; let x268 = n + 268; let x269 = n + 269; let x270 = n + 270; let x271 = n + 271; let x272 = n + 272; let x273 = n + 273; let x274 = n + 274; let x275 = n + 275; let x276 = n + 276; let x277 = n + 277; let x278 = n + 278; let x279 = n + 279; let x280 = n + 280; let x281 = n + 281; let x282 = n + 282; let x283 = n + 283; let x284 = n + 284; let x285 = n + 285; let x286 = n + 286; let x287 = n + 287; let x288 = n + 288; let x289 = n + 289; let x290 = n + 290; let x291 = n + 291; let x292 = n + 292; let x293 = n + 293; let x294 = n + 294; let x295 = n + 295; let x296 = n + 296; let x297 = n + 297; let x298 = n + 298; let x299 = n + 299;
            co.suspend(n).await;
            x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10 + x11 + x12 + x13 + x14 + x15 + x16 + x17 + x18 + x19 + x20 + x21 + x22 + x23 + x24 + x25 + x26 + x27 + x28 + x29 + x30 + x31 + x32 + x33 + x34 + x35 + x36 + x37 + x38 + x39 + x40 + x41 + x42 + x43 + x44 + x45 + x46 + x47 + x48 + x49 + x50 + x51 + x52 + x53 + x54 + x55 + x56 + x57 + x58 + x59 + x60 + x61 + x62 + x63 + x64 + x65 + x66 + x67 + x68 + x69 + x70 + x71 + x72 + x73 + x74 + x75 + x76 + x77 + x78 + x79 + x80 + x81 + x82 + x83 + x84 + x85 + x86 + x87 + x88 + x89 + x90 + x91 + x92 + x93 + x94 + x95 + x96 + x97 + x98 + x99 + x100 + x101 + x102 + x103 + x104 + x105 + x106 + x107 + x108 + x109 + x110 + x111 + x112 + x113 + x114 + x115 + x116 + x117 + x118 + x119 + x120 + x121 + x122 + x123 + x124 + x125 + x126 + x127 + x128 + x129 + x130 + x131 + x132 + x133 + x134 + x135 + x136 + x137 + x138 + x139 + x140 + x141 + x142 + x143 + x144 + x145 + x146 + x147 + x148 + x149 + x150 + x151 + x152 + x153 + x154 + x155 + x156 + x157 + x158 + x159 + x160 + x161 + x162 + x163 + x164 + x165 + x166 + x167 + x168 + x169 + x170 + x171 + x172 + x173 + x174 + x175 + x176 + x177 + x178 + x179 + x180 + x181 + x182 + x183 + x184 + x185 + x186 + x187 + x188 + x189 + x190 + x191 + x192 + x193 + x194 + x195 + x196 + x197 + x198 + x199 + x200 + x201 + x202 + x203 + x204 + x205 + x206 + x207 + x208 + x209 + x210 + x211 + x212 + x213 + x214 + x215 + x216 + x217 + x218 + x219 + x220 + x221 + x222 + x223 + x224 + x225 + x226 + x227 + x228 + x229 + x230 + x231 + x232 + x233 + x234 + x235 + x236 + x237 + x238 + x239 + x240 + x241 + x242 + x243 + x244 + x245 + x246 + x247 + x248 + x249 + x250 + x251 + x252 + x253 + x254 + x255 + x256 + x257 + x258 + x259 + x260 + x261 + x262 + x263 + x264 + x265 + x266 + x267 + x268 + x269 + x270 + x271 + x272 + x273 + x274 + x275 + x276 + x277 + x278 + x279 + x280 + x281 + x282 + x283 + x284 + x285 + x286 + x287 + x288 + x289 + x290 + x291 + x292 + x293 + x294 + x295 + x296 + x297 + x298 + x299
        }
    }
}

both! {
    type_known_later: 4; {
        async fn main(co: &mut H, n: i64) -> i64 {
            let parsed = "7".parse().unwrap();
            let mut collected = [n].into_iter().collect();
            let got = co.suspend(n).await;
            let list: &mut Vec<i64> = &mut collected;
            list.push(got);
            i64::max(parsed, got) + list.iter().sum::<i64>()
        }
    }
}

both! {
    raw_identifiers: 6; {
        async fn main(co: &mut H, r#type: i64) -> (i64, String) {
            let r#match = r#type + 1;
            let mut r#loop = 0;
            let r#in = 'r#for: loop {
                if r#loop > 3 {
                    break 'r#for r#loop;
                }
                let r#box = side(co.ctx(), r#loop);
                r#loop += co.suspend(r#box).await.max(1);
            };
            let Some(r#ref) = Some(r#in).filter(|r#in| *r#in > 0) else {
                return (co.suspend(r#match).await, String::new());
            };
            let r#await = format!("{match} {type}");
            (co.suspend(r#ref).await + r#match, r#await)
        }
    }
}
