# How everything is compiled. Warnings are errors; GRANARY_SANITIZE adds sanitizers ("address,undefined" or "thread"),
# GRANARY_FUZZ what libFuzzer goes by (clang).
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # _GNU_SOURCE: memfd, futex, SCM_RIGHTS, pidfd
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

option(GRANARY_TESTS "Build the tests" ON)
option(GRANARY_WERROR "Warnings are errors" ON)
set(GRANARY_SANITIZE "" CACHE STRING "address,undefined or thread")
option(GRANARY_FUZZ "Make the fuzz targets libFuzzer programs (clang)" OFF)

add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings
                    -Wvla -Wundef -fno-strict-aliasing -fno-omit-frame-pointer)
if(GRANARY_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-format-truncation)
else()
  add_compile_options(-Wno-gnu-zero-variadic-macro-arguments) # C23 allows a macro's "..." to stand for nothing
endif()
if(GRANARY_SANITIZE)
  add_compile_options(-fsanitize=${GRANARY_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GRANARY_SANITIZE})
  add_compile_definitions(GRANARY_SANITIZED=1)
endif()
if(GRANARY_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  # For what no fuzz target runs: it is compiled for its warnings.
  set(GRANARY_PLAIN -O0 -fno-sanitize=all -fno-sanitize-coverage=inline-8bit-counters,indirect-calls,trace-cmp,pc-table)
endif()
