//! What is mapped into a process, from the kernel's list.

use std::io;

/// A file, or the kernel's own object, mapped into a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// The path as the process sees it; `[vdso]` for the kernel's object.
    pub(crate) path: String,
    /// Where its beginning is mapped, its head first.
    pub(crate) start: u64,
    /// The first address past its last mapping.
    pub(crate) end: u64,
    /// Its parts that can be written, with the zeroed memory behind them.
    pub(crate) writable: Vec<(u64, u64)>,
}

impl Mapped {
    /// The last part of the path, without what the kernel says of deleted files.
    pub(crate) fn file_name(&self) -> &str {
        let path = self.path.strip_suffix(" (deleted)").unwrap_or(&self.path);
        path.rsplit('/').next().unwrap_or_default()
    }
}

/// The files mapped into process `pid`, lowest address first.
pub(crate) fn mapped(pid: i32) -> io::Result<Vec<Mapped>> {
    Ok(parse(&std::fs::read_to_string(format!("/proc/{pid}/maps"))?))
}

/// One line of the list.
struct Line<'a> {
    start: u64,
    end: u64,
    writable: bool,
    offset: u64,
    path: &'a str,
}

fn line(text: &str) -> Option<Line<'_>> {
    let mut fields = text.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let writable = fields.next()?.as_bytes().get(1) == Some(&b'w');
    let offset = hex(fields.next()?)?;
    let path = fields.nth(2).unwrap_or_default().trim_start();
    Some(Line { start: hex(start)?, end: hex(end)?, writable, offset, path })
}

fn parse(text: &str) -> Vec<Mapped> {
    let mut found: Vec<Mapped> = Vec::new();
    let mut last_end = 0;
    for line in text.lines().filter_map(line) {
        let is_object = line.path.starts_with('/') || line.path == "[vdso]";
        let last = found.last_mut();
        match last {
            // Zeroed memory right behind a writable part belongs to it.
            Some(last) if line.path.is_empty() && line.writable && line.start == last_end => {
                if last.end == last_end
                    && let Some(part) = last.writable.last_mut().filter(|part| part.1 == last_end)
                {
                    part.1 = line.end;
                    last.end = line.end;
                }
            }
            Some(last) if is_object && last.path == line.path && line.offset != 0 => {
                last.end = line.end;
                if line.writable {
                    last.writable.push((line.start, line.end));
                }
            }
            _ if is_object && line.offset == 0 => found.push(Mapped {
                path: line.path.to_owned(),
                start: line.start,
                end: line.end,
                writable: if line.writable { vec![(line.start, line.end)] } else { Vec::new() },
            }),
            _ => {}
        }
        last_end = line.end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_file_are_one_object_with_the_zeroed_memory_behind_it() {
        let found = parse(
            "00400000-00423000 r--p 00000000 fe:00 1204   /usr/bin/python3.11\n\
             00423000-00700000 r-xp 00023000 fe:00 1204   /usr/bin/python3.11\n\
             00a30000-00a50000 rw-p 00630000 fe:00 1204   /usr/bin/python3.11\n\
             00a50000-00a90000 rw-p 00000000 00:00 0 \n\
             01000000-01100000 rw-p 00000000 00:00 0      [heap]\n\
             7f0000000000-7f0000002000 r--p 00000000 fe:00 7  /lib/a b.so (deleted)\n\
             7fff00000000-7fff00002000 r-xp 00000000 00:00 0  [vdso]\n",
        );

        let names: Vec<&str> = found.iter().map(Mapped::file_name).collect();
        assert_eq!(names, ["python3.11", "a b.so", "[vdso]"]);
        assert_eq!((found[0].start, found[0].end), (0x40_0000, 0xa9_0000));
        assert_eq!(found[0].writable, [(0xa3_0000, 0xa9_0000)]);
    }

    #[test]
    fn a_file_mapped_twice_is_two_objects() {
        let found = parse(
            "1000-2000 r--p 00000000 fe:00 7 /lib/a.so\n5000-6000 r--p 00000000 fe:00 7 /lib/a.so\n",
        );
        assert_eq!(found.len(), 2);
    }
}
