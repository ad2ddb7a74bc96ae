# A room is one folder and one library. Its headers are included as "room/file.h", and only the rooms it names in USES
# (and what those expose) are in reach: each room's folder is linked under an include root of its own.
#
#   granary_room(store/index SOURCES index.c name.c USES base store/base LINKS PkgConfig::lz4)
#   granary_program(granary-store SOURCES main.c USES store)
#   granary_library(granary ROOMS base object PACKAGES zmq HEADERS graph.h)   an installed library, shared and static
#   granary_config()                                              granaryConfig.cmake, once all libraries are there
#   granary_test(test_arena SOURCES test_arena.c USES store)      a program and a ctest entry; cmocka
#       [LABELS integration] [TIMEOUT 60] [SERIAL] [TSAN]
#   granary_add_test(cli_kills COMMAND bash kills.sh)             a ctest entry alone; the command may be a target
#
# TSAN marks what has threads or lock-free code: `ctest -L tsan` runs it under the tsan preset,
# for which the target tsan_tests builds what is needed.

# A floor of a bigger room is named with it, store/index, and its headers are included as "store/index/file.h".
function(granary_room_root name folder)
  string(REPLACE / _ id ${name})
  set(link ${CMAKE_BINARY_DIR}/roots/${id}/${name})
  cmake_path(GET link PARENT_PATH parent)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${folder} ${link} SYMBOLIC)
endfunction()

function(granary_room room)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES;LINKS" ${ARGN})
  granary_room_root(${room} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE / _ name ${room})
  string(REPLACE / _ ROOM_USES "${ROOM_USES}")
  add_library(room_${name} STATIC ${ROOM_SOURCES})
  set_target_properties(room_${name} PROPERTIES OUTPUT_NAME granary_room_${name})
  target_compile_definitions(room_${name} PRIVATE GRANARY_BUILD=1)
  # PRIVATE: who uses this room does not see the rooms below it, unless it names them too.
  target_include_directories(room_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/roots/${name})
  foreach(used IN LISTS ROOM_USES)
    target_include_directories(room_${name} PRIVATE ${CMAKE_BINARY_DIR}/roots/${used})
  endforeach()
  foreach(used IN LISTS ROOM_USES)
    target_link_libraries(room_${name} PUBLIC $<LINK_ONLY:room_${used}>)
    add_dependencies(room_${name} room_${used})
  endforeach()
  target_link_libraries(room_${name} PRIVATE ${ROOM_LINKS} Threads::Threads)
  set_property(GLOBAL APPEND PROPERTY granary_rooms ${room})
endfunction()

# The objects of some rooms and of their floors, for a library that holds them all.
function(granary_room_objects ret)
  get_property(rooms GLOBAL PROPERTY granary_rooms)
  set(objects) # the caller has a variable of that name
  foreach(wanted IN LISTS ARGN)
    if(TARGET room_${wanted}) # not of a folder of floors
      list(APPEND objects $<TARGET_OBJECTS:room_${wanted}>)
    endif()
    foreach(room IN LISTS rooms)
      if(room MATCHES "^${wanted}/")
        string(REPLACE / _ name ${room})
        list(APPEND objects $<TARGET_OBJECTS:room_${name}>)
      endif()
    endforeach()
  endforeach()
  set(${ret} ${objects} PARENT_SCOPE)
endfunction()

# Once the static library is linked, make one object of it and of what it needs of these archives: of its names only the
# public ones are seen then, so that a program may have a call() of its own, and needs none of the archives.
function(granary_seal_archive target)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_LINKER} -r -o ${target}.o --whole-archive $<TARGET_FILE:${target}> --no-whole-archive ${ARGN}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden --wildcard "--keep-global-symbol=granary_*" ${target}.o
    COMMAND ${CMAKE_COMMAND} -E rm $<TARGET_FILE:${target}>
    COMMAND ${CMAKE_AR} rcs $<TARGET_FILE:${target}> ${target}.o
    COMMAND ${CMAKE_COMMAND} -E rm ${target}.o
    VERBATIM)
endfunction()

# " -lzmq -llz4" of these packages, for pkg-config: their headers are in none of ours, so they are no Requires.private,
# which would give their --cflags to everybody.
function(granary_library_flags ret)
  foreach(package IN LISTS ARGN)
    foreach(library IN LISTS ${package}_LIBRARIES)
      string(APPEND flags " -l${library}")
    endforeach()
  endforeach()
  set(${ret} "${flags}" PARENT_SCOPE)
endfunction()

# lib<name>.so and lib<name>.a of these rooms, installed with their headers and <name>.pc. They show granary_* alone, with
# a version in the shared one. OBJECTS are those of no room; ARCHIVES become part of it; PACKAGES are linked to it.
function(granary_library name)
  cmake_parse_arguments(LIBRARY "" "" "ROOMS;OBJECTS;PACKAGES;ARCHIVES;LINKS;HEADERS" ${ARGN})
  set(exports ${CMAKE_BINARY_DIR}/exports.map)
  configure_file(${CMAKE_SOURCE_DIR}/tools/cmake/exports.map.in ${exports} @ONLY)
  granary_room_objects(objects ${LIBRARY_ROOMS})
  list(TRANSFORM LIBRARY_PACKAGES PREPEND PkgConfig:: OUTPUT_VARIABLE packages)
  add_library(${name}-shared SHARED ${objects} ${LIBRARY_OBJECTS})
  add_library(${name}-static STATIC ${objects} ${LIBRARY_OBJECTS})
  set_target_properties(${name}-shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${GRANARY_SOVERSION}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib LINK_DEPENDS ${exports})
  set_target_properties(${name}-static PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_link_options(${name}-shared PRIVATE -Wl,--version-script=${exports})
  foreach(library ${name}-shared ${name}-static)
    set_target_properties(${library} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C)
    target_link_libraries(${library} PRIVATE ${packages} ${LIBRARY_ARCHIVES} ${LIBRARY_LINKS} Threads::Threads)
    target_include_directories(${library} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
  granary_seal_archive(${name}-static ${LIBRARY_ARCHIVES})
  granary_library_flags(below_flags ${LIBRARY_PACKAGES})
  set_property(GLOBAL APPEND PROPERTY granary_libraries "${name}${below_flags} -pthread -lm -ldl")
  # Relative to where it lies: --prefix or a move of the tree after this keeps it true.
  file(RELATIVE_PATH lib_to_include ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  configure_file(${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
  install(TARGETS ${name}-shared ${name}-static
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  list(TRANSFORM LIBRARY_HEADERS PREPEND ${CMAKE_SOURCE_DIR}/include/granary/)
  install(FILES ${LIBRARY_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/granary)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# granaryConfig.cmake, for those who use find_package() and not pkg-config: the same libraries.
function(granary_config)
  get_property(libraries GLOBAL PROPERTY granary_libraries)
  foreach(library IN LISTS libraries)
    string(APPEND rows " \"${library}\"")
  endforeach()
  file(RELATIVE_PATH lib_to_include ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  configure_file(${CMAKE_SOURCE_DIR}/tools/cmake/granaryConfig.cmake.in ${CMAKE_BINARY_DIR}/granaryConfig.cmake @ONLY)
  configure_file(${CMAKE_SOURCE_DIR}/tools/cmake/granaryConfigVersion.cmake.in ${CMAKE_BINARY_DIR}/granaryConfigVersion.cmake @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/granaryConfig.cmake ${CMAKE_BINARY_DIR}/granaryConfigVersion.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/granary)
endfunction()

function(granary_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;USES;LINKS" ${ARGN})
  string(REPLACE / _ PROGRAM_USES "${PROGRAM_USES}")
  add_executable(${name} ${PROGRAM_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(used IN LISTS PROGRAM_USES)
    target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/roots/${used})
    target_link_libraries(${name} PRIVATE room_${used})
  endforeach()
  target_link_libraries(${name} PRIVATE ${PROGRAM_LINKS} Threads::Threads m)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  set_property(GLOBAL APPEND PROPERTY granary_objects $<TARGET_OBJECTS:${name}>)
endfunction()

# The meter writes what the test took to times/ROOM/NAME of the build, where tests/budget.py reads it; the room is the
# test's folder. Not with sanitizers: their tests have no budget.
function(granary_add_test name)
  cmake_parse_arguments(TEST "" "" "COMMAND" ${ARGN})
  list(POP_FRONT TEST_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  if(NOT GRANARY_SANITIZE)
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/tests OUTPUT_VARIABLE room)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/times/${room})
    set(program $<TARGET_FILE:meter> ${CMAKE_BINARY_DIR}/times/${room}/${name} ${program})
  endif()
  add_test(NAME ${name} COMMAND ${program} ${TEST_COMMAND})
  # What a test computes twice is computed twice; tests of recall switch it on again.
  set_tests_properties(${name} PROPERTIES ENVIRONMENT_MODIFICATION "GRANARY_RECALL=set:off")
endfunction()

function(granary_test name)
  cmake_parse_arguments(TEST "SERIAL;TSAN" "TIMEOUT" "SOURCES;USES;LINKS;LABELS" ${ARGN})
  if(NOT TEST_SOURCES)
    set(TEST_SOURCES ${name}.c)
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  if(TEST_TSAN)
    list(APPEND TEST_LABELS tsan)
    set_property(GLOBAL APPEND PROPERTY granary_tsan_tests ${name})
  endif()
  granary_program(${name} SOURCES ${TEST_SOURCES} USES ${TEST_USES} LINKS ${TEST_LINKS} PkgConfig::cmocka)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  granary_add_test(${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}"
    ENVIRONMENT "GRANARY_BIN=${CMAKE_BINARY_DIR}/bin;GRANARY_SOURCE=${CMAKE_SOURCE_DIR}")
  if(TEST_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
