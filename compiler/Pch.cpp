// Only carries the precompiled header (Pch.h).
