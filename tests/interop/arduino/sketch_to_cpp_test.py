"""What sketch_to_cpp.py makes of .ino files: python3 sketch_to_cpp_test.py FOLDER_OF_THE_SHIM"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
SHIM = Path(sys.argv.pop(1))
sys.path.insert(0, str(SHIM))

from sketch_to_cpp import blank_out, convert, functions_in, in_order  # noqa: E402


def prototypes(text: str) -> list[str]:
    return [function.prototype for function in functions_in(text)]


class Prototypes(unittest.TestCase):
    def test_of_plain_functions(self) -> None:
        text = "void setup() {}\nint add(int a, int b)\n{\n  return a + b;\n}\n"
        self.assertEqual(prototypes(text), ["void setup();", "int add(int a, int b);"])

    def test_span_lines_and_leave_comments_out(self) -> None:
        text = "// about it\nunsigned long /* ms */ since(\n  const char *name, // whose\n  int)\n{}\n"
        self.assertEqual(prototypes(text), ["unsigned long since(const char *name, int);"])

    def test_of_templates_references_and_arrays(self) -> None:
        self.assertEqual(
            prototypes("template <typename T, int N>\nT first(T (&items)[N]) { return items[0]; }"),
            ["template <typename T, int N> T first(T (&items)[N]);"],
        )
        self.assertEqual(prototypes("std::pair<int, int> two(Map<int, byte> &m) {}"),
                         ["std::pair<int, int> two(Map<int, byte> &m);"])

    def test_leave_default_arguments_to_the_definition(self) -> None:
        self.assertEqual(
            prototypes('void say(const char *s = "a, {b", char c = \')\', int n = max(1, 2)) {}'),
            ["void say(const char *s, char c, int n);"],
        )

    def test_leave_attributes_to_the_definition(self) -> None:
        self.assertEqual(prototypes("__attribute__((section(\".x\"))) void f() {}"), ["void f();"])
        self.assertEqual(prototypes("[[noreturn]] static void f() {}"), ["static void f();"])
        self.assertEqual(prototypes("void f() __attribute__((noinline)) {}"), ["void f();"])

    def test_keep_what_belongs_to_the_type(self) -> None:
        self.assertEqual(prototypes("struct Point at(int x) noexcept {}"), ["struct Point at(int x) noexcept;"])
        self.assertEqual(prototypes("auto half(int x) -> double {}"), ["auto half(int x) -> double;"])
        self.assertEqual(prototypes("Print &operator<<(Print &p, int x) {}"), ["Print & operator<<(Print &p, int x);"])

    def test_of_nothing_but_functions(self) -> None:
        for text in (
            "struct A { void f() {} };",
            "class A : public B { int g() { return 1; } };",
            "enum Color : byte { RED };",
            "namespace n { void f() {} }",
            "byte mac[] = { 1, 2 };",
            "IPAddress ip{ 1, 2, 3, 4 };",
            "auto twice = [](int x) { return 2 * x; };",
            "int (*table[])(int) = { f };",
            "Button button(3, []() { press(); });",
            "void A::f() {}",
            "A::A() : b(1) {}",
            "ISR(TIMER1_OVF_vect) {}",
            'extern "C" { void f(); }',
            'extern "C" void f() {}',
            "#define TWICE(x) do { x; x; } while (0)\n",
            "// void f() {}\n/* void g() {} */",
            'const char *text = "void f() {";',
            "const char *raw = R\"x(\nvoid f() {}\n)x\";",
        ):
            self.assertEqual(prototypes(text), [], text)

    def test_are_not_misled_by_braces_that_mean_nothing(self) -> None:
        text = "char open = '{';\nconst char *s = \"}\\\"{\";\nlong n = 1'000'000;\n#define BEGIN {\nvoid f() { s = \"}\"; }\nvoid g() {}\n"
        self.assertEqual(prototypes(text), ["void f();", "void g();"])

    def test_are_not_made_twice(self) -> None:
        self.assertEqual(prototypes("int f( int a );\nint g() { return f(1); }\nint f(int a) { return a; }"), ["int g();"])

    def test_of_two_overloads(self) -> None:
        self.assertEqual(prototypes("void f(int a) {}\nvoid f(long a) {}"), ["void f(int a);", "void f(long a);"])


class Conversion(unittest.TestCase):
    def test_puts_prototypes_before_the_first_function_and_after_its_types(self) -> None:
        out = convert([(Path("s.ino"), "struct P { int x; };\nP make() { return later(); }\nP later() { return {}; }\n")])
        self.assertEqual(
            out,
            '#include "Arduino.h"\n#line 1 "s.ino"\nstruct P { int x; };\n'
            '#line 2 "s.ino"\nP make();\n#line 3 "s.ino"\nP later();\n'
            '#line 2 "s.ino"\nP make() { return later(); }\nP later() { return {}; }\n',
        )

    def test_repeats_the_conditions_of_a_function(self) -> None:
        out = convert([(Path("s.ino"), "#ifdef A\nX f() {}\n#else\n#if B > 1\nY f() {}\n#endif\n#endif\nvoid g() {}\n")])
        self.assertIn('#ifdef A\n#line 2 "s.ino"\nX f();\n#endif\n', out)
        self.assertIn('#ifdef A\n#else\n#if B > 1\n#line 5 "s.ino"\nY f();\n#endif\n#endif\n', out)
        self.assertIn('\n#line 8 "s.ino"\nvoid g();\n#line 1 "s.ino"\n#ifdef A\nX f() {}', out)

    def test_joins_files_and_says_where_each_begins(self) -> None:
        out = convert([(Path("a.ino"), "int x;"), (Path("b.ino"), "\nvoid f() {}\n"), (Path("c.ino"), "void g() {}\n")])
        self.assertTrue(out.endswith('#line 2 "b.ino"\nvoid f() {}\n#line 1 "c.ino"\nvoid g() {}\n'), out)
        self.assertIn('#line 1 "a.ino"\nint x;\n#line 1 "b.ino"\n\n#line 2 "b.ino"\nvoid f();\n#line 1 "c.ino"\nvoid g();', out)

    def test_takes_a_sketch_without_a_function(self) -> None:
        self.assertEqual(convert([(Path("a.ino"), "int x;\n")]), '#include "Arduino.h"\n#line 1 "a.ino"\nint x;\n')
        self.assertEqual(convert([(Path("a.ino"), "")]), '#include "Arduino.h"\n#line 1 "a.ino"\n\n')

    def test_keeps_the_place_of_every_character(self) -> None:
        text = "a /* {\n */ b \"}\n\" 'x' // {\n#define X \\\n {\nc"
        blank = blank_out(text)
        self.assertEqual(len(blank), len(text))
        self.assertEqual(blank.count("\n"), text.count("\n"))
        self.assertNotIn("{", blank)

    def test_reads_the_file_that_bears_the_name_of_its_folder_first(self) -> None:
        files = [Path("blink/a.ino"), Path("blink/blink.ino"), Path("blink/c.ino")]
        self.assertEqual([file.name for file in in_order(files)], ["blink.ino", "a.ino", "c.ino"])

    def test_runs_as_a_program(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            sketch = Path(folder, "s.ino")
            sketch.write_text("void setup() { go(); }\nvoid loop() {}\nvoid go() {}\n", encoding="utf-8")
            out = Path(folder, "s.cpp")
            subprocess.run([sys.executable, SHIM / "sketch_to_cpp.py", "-o", out, sketch], check=True, timeout=20)
            self.assertIn("void go();", out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
