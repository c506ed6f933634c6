//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::rows::Order;
use super::view::View;

/// Rows that page up and page down move.
const PAGE: usize = 15;

/// Whether to go on after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    Quit,
}

/// Does what `key` says.
pub(super) fn press(view: &mut View, key: KeyEvent) -> Then {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if is_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
        return Then::Quit;
    }
    if view.is_typing {
        type_filter(view, key.code);
        return Then::GoOn;
    }
    if view.shows_help {
        view.shows_help = false;
        return Then::GoOn;
    }
    match key.code {
        KeyCode::Char('q') => return Then::Quit,
        KeyCode::Esc if view.filter.is_empty() => return Then::Quit,
        KeyCode::Esc => view.filter.clear(),
        KeyCode::Char('?' | 'h') => view.shows_help = true,
        KeyCode::Char('s') => view.sort(Order::Own),
        KeyCode::Char('t') => view.sort(Order::Total),
        KeyCode::Char('f') => view.sort(Order::Place),
        KeyCode::Char('n') => view.sort(Order::Thread),
        KeyCode::Char('/') => view.is_typing = true,
        KeyCode::Char(' ' | 'p') => view.is_paused = !view.is_paused,
        KeyCode::Char('r') => view.reset(),
        KeyCode::Down | KeyCode::Char('j') => view.scroll += 1,
        KeyCode::Up | KeyCode::Char('k') => view.scroll = view.scroll.saturating_sub(1),
        KeyCode::PageDown => view.scroll += PAGE,
        KeyCode::PageUp => view.scroll = view.scroll.saturating_sub(PAGE),
        KeyCode::Home => view.scroll = 0,
        _ => {}
    }
    Then::GoOn
}

fn type_filter(view: &mut View, key: KeyCode) {
    match key {
        KeyCode::Enter => view.is_typing = false,
        KeyCode::Esc => {
            view.is_typing = false;
            view.filter.clear();
        }
        KeyCode::Backspace => {
            view.filter.pop();
        }
        KeyCode::Char(letter) => view.filter.push(letter),
        _ => {}
    }
    view.scroll = 0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tachograph_profile::Mode;

    fn pressed(view: &mut View, text: &str) -> Then {
        let mut then = Then::GoOn;
        for letter in text.chars() {
            let code = match letter {
                '\n' => KeyCode::Enter,
                '\x1b' => KeyCode::Esc,
                '\x08' => KeyCode::Backspace,
                letter => KeyCode::Char(letter),
            };
            then = press(view, KeyEvent::new(code, KeyModifiers::NONE));
        }
        then
    }

    #[test]
    fn a_filter_is_typed_and_its_letters_are_no_commands() {
        let mut view = View::new("a.py".into(), 1, "3.12.1".into(), Mode::Cpu);

        assert_eq!(pressed(&mut view, "/qx\x08s\n"), Then::GoOn);
        assert_eq!((view.filter.as_str(), view.is_typing), ("qs", false));
        assert_eq!(pressed(&mut view, "t"), Then::GoOn);
        assert_eq!(view.order, Order::Total);
        assert_eq!(pressed(&mut view, "\x1b"), Then::GoOn, "the filter goes first");
        assert_eq!(pressed(&mut view, "\x1b"), Then::Quit);
    }

    #[test]
    fn control_c_quits_even_while_typing() {
        let mut view = View::new("a.py".into(), 1, "3.12.1".into(), Mode::Cpu);
        pressed(&mut view, "/");
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);

        assert_eq!(press(&mut view, key), Then::Quit);
    }
}
