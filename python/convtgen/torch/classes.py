"""The classes that accelerate() gives to modules, and those that undo() gives back.

A subclass without a forward of its own gets one class that is made of convtgen's and of the subclass. Pickles of a module
name the subclass, so the made class needs no name of its own. What torch.nn.utils.parametrize made stays above it: its
first base is the class that remove_parametrizations() gives back.
"""

import weakref

import torch
from torch.nn.utils import parametrize

from .modules import (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, LazyConvTranspose1d, LazyConvTranspose2d,
                      LazyConvTranspose3d)

# Lazy ones are subclasses of the others, and come first.
_OWN = {torch.nn.LazyConvTranspose1d: LazyConvTranspose1d, torch.nn.LazyConvTranspose2d: LazyConvTranspose2d,
        torch.nn.LazyConvTranspose3d: LazyConvTranspose3d, torch.nn.ConvTranspose1d: ConvTranspose1d,
        torch.nn.ConvTranspose2d: ConvTranspose2d, torch.nn.ConvTranspose3d: ConvTranspose3d}
_TORCHS = {own: theirs for theirs, own in _OWN.items()}
_made = weakref.WeakKeyDictionary()  # a weak reference to the made class, by the subclass


class _Quiet:
    """A base for the time in which a class is made: no __init_subclass__ of a user runs."""


def _again(function, theirs, *rest):
    """Makes an object of the class that is made of a subclass; for pickles."""
    return function(_of_plain(theirs), *rest)


def _new_class(cls, bases, namespace):
    # The bases of a class can be changed where those before have the same layout; without __init_subclass__.
    made = type(cls)(cls.__name__, (_Quiet,), namespace)
    made.__bases__ = bases
    return made


def base_of(cls):
    """torch's class whose forward a class has; None where it has one of its own."""
    for theirs in _OWN:
        if issubclass(cls, theirs) and cls.forward is theirs.forward:
            return theirs
    return None


def _of_plain(cls):
    """The class for one that is not parametrized."""
    if cls in _OWN:
        return _OWN[cls]
    found = _made[cls]() if cls in _made else None
    if found is None:

        def reduce(self, protocol):
            function, arguments, *rest = super(found, self).__reduce_ex__(protocol)
            if not arguments or arguments[0] is not type(self):  # the subclass has a way of its own
                return (function, arguments, *rest)
            return (_again, (function, cls, *arguments[1:]), *rest)

        found = _new_class(cls, (_OWN[base_of(cls)], cls), {
            "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__,
            "__reduce_ex__": reduce, "_convtgen_theirs": cls})
        _made[cls] = weakref.ref(found)
    return found


def _of_ours(cls):
    """The class that _of_plain() got; None for another."""
    return _TORCHS.get(cls) or vars(cls).get("_convtgen_theirs")


def _under(cls, base):
    """A parametrized class with another base."""
    own = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    return _new_class(cls, (base,), own)


def accelerated(module):
    """The class with convtgen's forward for a module."""
    cls = type(module)
    if parametrize.is_parametrized(module):
        return _under(cls, _of_plain(cls.__bases__[0]))
    return _of_plain(cls)


def original(module):
    """The class before accelerate() of a module of convtgen; None for a class that a user made of convtgen's."""
    cls = type(module)
    if parametrize.is_parametrized(module):
        base = _of_ours(cls.__bases__[0])
        return None if base is None else _under(cls, base)
    return _of_ours(cls)
