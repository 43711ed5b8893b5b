use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use leno::channel::bounded;
use leno::io::time::sleep;
use leno::kernel::{scope, spawn_local};
use leno_samples::download::{Job, News, download, show};

use crate::http::{Server, bytes, patient};
use crate::support::{MS, leaves_nothing, listener};

/// A file that others can look into.
struct File(Rc<RefCell<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_few_at_a_time_all_arrive() {
    const AT_ONCE: usize = 4;
    leaves_nothing(|| {
        let (now, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let (own_now, own_most) = (now.clone(), most.clone());
        let server = Server::with(patient(), move |request, answer| {
            own_now.set(own_now.get() + 1);
            own_most.set(own_most.get().max(own_now.get()));
            // The first ones wait for each other.
            while own_most.get() < AT_ONCE {
                sleep(MS);
            }
            let length: usize = request.head.target[1..].parse().unwrap_or(0);
            let result = match length {
                0 => answer.send(404, ""),
                // Every other one does not say how long it is.
                _ if length.is_multiple_of(2) => answer.start(200).and_then(|mut out| {
                    out.write_all(&bytes(length))?;
                    out.finish()
                }),
                _ => answer.send(200, bytes(length)),
            };
            own_now.set(own_now.get() - 1);
            result
        });
        let address = server.address;
        let job = |length: usize| Job { server: address, target: format!("/{length}") };
        let jobs: Vec<_> = (0..20).map(|n| job(n * 7777)).collect();
        let files: RefCell<BTreeMap<String, Rc<RefCell<Vec<u8>>>>> = RefCell::default();
        let mut screen = Vec::new();
        let results = scope(|scope| {
            let (news, heard) = bounded(10);
            let jobs_count = jobs.len() as u64;
            let screen = &mut screen;
            scope.spawn(move || show(jobs_count, &heard, screen).unwrap());
            let open = |job: &Job| {
                let bytes = Rc::default();
                files.borrow_mut().insert(job.target.clone(), Rc::clone(&bytes));
                Ok(File(bytes))
            };
            download(&jobs, AT_ONCE, open, &news)
        });
        assert!(results[0].is_err(), "{:?}", results[0]);
        for (n, result) in results.iter().enumerate().skip(1) {
            assert_eq!(*result.as_ref().unwrap(), n as u64 * 7777);
            assert!(*files.borrow()[&format!("/{}", n * 7777)].borrow() == bytes(n * 7777));
        }
        assert_eq!(most.get(), AT_ONCE);
        let screen = String::from_utf8(screen).unwrap();
        let last = screen.trim_end().rsplit('\r').next().unwrap().trim_end_matches("\x1b[K");
        let sum = format!("{0:.1} of {0:.1} MiB", 190.0 * 7777.0 / 1_048_576.0);
        let full = "=".repeat(30);
        assert_eq!(last, format!("[{full}] {sum}, 19 of 20 done, 1 failed"));
        assert!(server.stop());
    });
}

#[test]
fn servers_that_break_off_are_reported() {
    leaves_nothing(|| {
        let (listener, address) = listener();
        let server = spawn_local(move || {
            let answers: [&[u8]; 4] = [
                b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
                b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n12",
                b"SSH-2.0\r\n",
            ];
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(answer).unwrap();
            }
        });
        let jobs = vec![Job { server: address, target: "/".into() }; 5];
        let (news, heard) = bounded::<News>(100);
        let results = download(&jobs, 1, |_| Ok(io::sink()), &news);
        assert!(results.iter().all(Result::is_err), "{results:?}");
        assert_eq!(heard.try_iter().filter(|news| matches!(news, News::Done { .. })).count(), 5);
        server.join().unwrap();
    });
}
