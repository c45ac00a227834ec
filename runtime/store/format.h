// The version of what the store keeps: keys and files.
#pragma once

/// A number in quotes. It is part of every key and of every file's head, so that versions share a folder and never read
/// each other's entries: raise it whenever the fields of keys change their meaning or files their form. Given from
/// outside only by tests, which build a second version next to this one.
#ifndef CONVTGEN_STORE_FORMAT
#define CONVTGEN_STORE_FORMAT "1"
#endif
