#include "contract/int128.h"
#include "frame_tools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/core/exact_sum.h"
#include "kernel/simd/exact_sum.h"

/* Sums of values[end of the case before .. end), rounded once. */
static const double values[] = {
    0x1.999999999999ap-4,
    0x1.999999999999ap-4,
    0x1.999999999999ap-4,
    0x1.999999999999ap-4,
    0x1.999999999999ap-4,
    0x1.999999999999ap-4,
    0x1.999999999999ap-4,
    0x1.999999999999ap-4,
    0x1.999999999999ap-4,
    0x1.999999999999ap-4,
    0x1.249ad2594c37dp+332,
    0x1.0000000000000p+0,
    -0x1.249ad2594c37dp+332,
    0x1.bff2ee48e0530p-333,
    0x1.11b0ec57e649ap+166,
    -0x1.0000000000000p+0,
    -0x1.11b0ec57e649ap+166,
    0x1.0000000000000p+53,
    -0x1.0000000000000p-1,
    -0x1.0000000000000p-54,
    0x1.0000000000000p+53,
    0x1.0000000000000p+0,
    0x1.0000000000000p-100,
    0x1.0000000000005p+53,
    -0x1.0000000000000p+0,
    0x1.0000000000000p-100,
    0x1.1c37937e08000p+53,
    0x1.0000000000000p+0,
    0x1.cd2b297d889bcp-54,
    0x1.1c37937e07fffp+53,
    0x1.fffffffffffffp-1,
    -0x1.1c37937e07fffp+53,
    -0x1.fffffffffffffp-1,
    0x0.0000000000001p-1022,
    0x0.0000000000001p-1022,
    0x0.0000000000001p-1022,
    0x0.0000000000001p-1022,
    -0x1.0000000000000p-1022,
    0x1.0000000000000p-1022,
    0x1.fffffffffffffp+1023,
    0x1.fbefb9d24c1dap+969,
    -0x1.fffffffffffffp+1023,
    0x1.f767c482c9b00p+394,
    0x1.2e4738d8608fep-954,
    0x1.5c8437bb9985ep-52,
    0x1.3119920d46410p-431,
    -0x1.8c13bc5069136p+849,
    0x1.7949c41f8fb2cp+487,
    0x1.667d2c686bfa0p-54,
    -0x1.f29231a268928p-185,
    -0x1.78369970e7b00p-329,
    0x1.aa5670ef08e64p+523,
    -0x1.5c90b69e793a6p-778,
    -0x1.71e6f430e7cb8p+750,
    -0x0.00000000002fdp-1022,
    0x0.0000000f1d631p-1022,
    -0x1.2984441cfae1cp-190,
    0x1.d72b8efdbff98p-393,
    0x1.7d5876154f5d0p+112,
    -0x1.7da45a09dc944p-259,
    0x1.4151938125520p-237,
    -0x1.45f8a6078e194p-266,
    0x1.ddc308fb88474p+497,
    -0x1.9c1490fa7a600p+406,
    -0x1.5c8ac7ab07cf0p-478,
    -0x1.e3b690ef53010p+286,
    -0x0.00000000065b4p-1022,
    0x1.8921395b1a328p+310,
    -0x1.bc649c58534c8p+383,
    0x1.46299a272d1d0p+897,
    0x1.92448c50d7d10p-317,
    -0x1.33b7cc383dd20p-355,
    -0x1.c5a18c5f356f2p-979,
    0x1.cc0073dff9488p+392,
    0x1.612874b3bfe88p-998,
    0x1.91f2bf26a4de0p+640,
    -0x0.000448377e7eap-1022,
    -0x1.827ae7d026c50p-334,
    0x1.faba83e90d568p-270,
    -0x1.861f799f44078p-65,
    0x1.b7f79068e526ep+821,
    -0x1.3eb4bf7ccd0fcp+380,
    0x1.9222db43296dep-45,
    0x1.1a37ad3b3ea92p-630,
    0x1.6fabb77f2e078p+430,
    0x1.7053b525dedd8p-922,
    -0x1.12870a1bc0148p-701,
    -0x1.2a835454629d4p+413,
    0x1.ac1f0c12f8130p+320,
    -0x1.cb6a2f1367c90p-696,
    -0x1.801a0550648b4p+224,
    -0x1.8cf62ed290d14p-753,
    0x1.03b2be261c374p+193,
    0x1.fca5f43decf44p-411,
    0x1.c2d2e60c6dea0p-742,
    0x1.f261404ce212cp+590,
    -0x1.df68e0e19ef46p+336,
    0x1.4e20692006d80p+794,
    0x1.352de46bf8490p-477,
    -0x1.c6f4af02ae784p-938,
    0x1.34e7853f2d1c8p+296,
    0x1.5a8d349a80f04p-538,
    0x1.ecda08dda72e0p+275,
    0x1.cc97fe90fed60p+121,
    -0x1.92cf6cea64140p+142,
    -0x1.0419d1d9cb0ecp-243,
    0x1.6101ec35d7b8ep-1,
    -0x1.6f68a2c5ff052p-129,
    0x1.e76e8742d743ap+162,
    0x1.d72cabbe7bfe6p+23,
    -0x1.575e55cec6760p-8,
    -0x1.ea321cc50a100p-156,
    -0x1.8cbcfacfbe70ap+242,
    0x1.d6d9f996f674ap+209,
    0x1.78a048ab5345ap-118,
    -0x1.a4b929410aaa6p-24,
    0x1.f1619c8326500p+254,
    0x1.78343f405c8d8p+67,
    -0x1.bf60689b639ccp+62,
    0x1.8e88bd96655f0p-268,
    0x1.09debca72125cp+70,
    0x1.e5e72ad160780p-18,
    0x1.57472f3e2aeeep-31,
    0x1.1438ae7d8ffc8p-2,
    0x1.d3d9c5f907b3cp+46,
    0x1.3291cc2dbbf74p+291,
    0x1.684406817b798p+183,
    0x1.80f30b1849460p-49,
    -0x1.648bf4540f35cp-23,
    -0x1.2f9a92d83ddd0p+207,
    0x1.2df36bac738c8p+62,
    -0x1.378853b9e3494p+50,
    0x1.e71206f000fe8p+115,
    -0x1.331b8713e1f84p-127,
    0x1.7aca03eef8ebcp+158,
    0x1.e78c932ea08d8p+40,
    0x1.29324922868e0p+236,
    0x1.ebbad0154524ep-99,
    0x1.58b2fcae56f6ap+186,
    -0x1.bcb4d74efebbcp-223,
    0x1.c1eafbabbd5e8p+123,
    -0x1.500ca5b10d56ap+292,
    0x1.0d9a0d530f240p+124,
    -0x1.9423cc6052c44p+263,
    0x1.194c336efe0e0p-25,
    0x1.c368a9fefaf54p-275,
    -0x1.37b4eeeb845d4p+298,
    -0x1.e2c47d80f3520p-120,
    -0x1.1fb4759ed92e8p-118,
    0x1.0c0308b7ed25cp-261,
    0x1.f224c53c5ce9ep-71,
    -0x1.5646d0f911d7ap-166,
    -0x1.8e82e2d7610c4p-117,
    -0x1.1c116673ffa00p+255,
    -0x1.db7c964ad13b4p+174,
    -0x1.30f2919ea4bc4p-230,
    0x1.71503a68a2b18p-61,
    0x1.be7ec4e736f4cp+79,
    -0x1.ff52d2d322260p+113,
    0x1.cef508a3a6cecp+117,
    0x1.7731e30ebac24p+258,
    -0x1.024b62091f010p-267,
    0x1.990cf2744a250p+3,
    -0x1.9ee711da3438cp+256,
    0x1.9e70956e12b40p+287,
    -0x1.a78b0c0aacd18p+57,
    0x1.462aa190884e8p+127,
    -0x1.73bdd45fbfcb8p+273,
    0x1.236c5e89d3a48p+75,
    -0x1.0a77976e7a110p-145,
    0x1.88f5e8c3f7548p+273,
    -0x1.7851b057a0ee0p-103,
    0x1.df3a959105968p-209,
    -0x1.30ea0d2dc396cp-303,
    -0x1.e3ed3fc8beed8p+29,
    0x1.0d90e5d53c5b8p+248,
    -0x1.6fec365657fd2p+275,
    -0x1.fc867d243fc80p+138,
    0x1.e81eea1cf892cp+203,
    -0x1.ab04e3853a968p+85,
    -0x1.db948a13e5940p-142,
    0x1.88700b301a478p-38,
    0x1.ed9f27fb218acp+5,
    -0x1.e43eafee7f500p+116,
    -0x1.ebdb485726028p+12,
    -0x1.0e2e712095e80p-14,
    -0x1.6d4503c2f3c56p-278,
    -0x1.8330502b83312p+152,
    -0x1.049b915a7b990p-262,
    0x1.20779d9176df8p+99,
    -0x1.f27ad5c285a44p+243,
    0x1.ee1a8d185bc80p-56,
    0x1.bdb2ff3cb5244p-265,
    -0x1.0471a84143c98p-28,
    0x1.602afc13cf5c6p-10,
    -0x1.a78cea81fafd4p+183,
    0x1.2a804528b5120p-185,
    -0x1.ef70681eab41ap-173,
    -0x1.982ff7b7b8140p+243,
    0x1.aa0a37560c114p+0,
    0x1.d9a73887a5658p-276,
    -0x1.24274699d7460p+64,
    0x1.743f5bbeb9720p+19,
    0x1.73efa043d45e0p-32,
    -0x1.fd18855fb09aep+3,
    -0x1.6b9cc541cf3e0p+23,
    -0x1.91d1238e57f6ap+11,
    0x1.757df4c3c4820p-35,
    -0x1.2011ca7177d40p+17,
    -0x1.2802facf6a4e8p+2,
    0x1.831b85b54b5d0p+7,
    0x1.30dfd77b5c6d0p+21,
    0x1.a598b2ebac746p-8,
    -0x1.8dcedcdd75860p+7,
    0x1.6858d65c1c298p-20,
    0x1.98788025f2070p-3,
    0x1.51f1b0e10c972p-28,
    -0x1.921fe129e9a4cp-33,
    0x1.8e95b5c76c650p-6,
    0x1.50554e929deb0p+7,
    0x1.1f7776bc793b0p+26,
    -0x1.832c4cdb790ccp-23,
    -0x1.61b0127029ce0p-1,
    0x1.8e04c23fb40a8p-11,
    0x1.36d7f09d36600p-8,
    0x1.5fa6991533320p+17,
    -0x1.ce47d6f73e094p+14,
    -0x1.1475d4ddcc3b8p+20,
    -0x1.a8c2541aa7eb6p-28,
    0x1.4f0e40f131cd0p-32,
    -0x1.55e90b4703c78p-6,
    0x1.ea2ca908cb500p-7,
    0x1.9c27fd7c97c9cp-30,
    -0x1.81a9fa14374aap-25,
    -0x1.1f819e31563eep+9,
    0x1.4c224079e32a2p-25,
    0x1.b31581e514a94p-25,
    0x1.f9e90da570684p+13,
    0x1.ac079f380f6a0p-23,
    -0x1.448524b1d777ep-21,
    -0x1.6084626558fe8p-24,
    -0x1.bb2899b055082p-19,
    -0x1.d3644038e5038p-26,
    0x1.481d126113304p+14,
    -0x1.b644995c2d34cp-29,
    0x1.233d3f2687ea8p-27,
    0x1.f04eb56606184p+23,
    0x1.fac19a44c7470p-34,
    -0x1.17e0abd12f118p-14,
    0x1.7bdb1299a7dccp-2,
    -0x1.55734a5876380p+23,
    0x1.3fce0d5fcb740p+25,
    -0x1.c6e926ee4e66ep+12,
    -0x1.a4679dd950e84p+3,
    0x1.0cff18ad8df1cp-1,
    -0x1.ad987516ee8c8p+27,
    0x1.c1aa7e3314b20p+4,
    -0x1.1e1d7dde4dee8p-28,
    0x1.a752f4f149970p-19,
    0x1.54972c6012f5cp-14,
    0x1.167527cd02ca0p-28,
    0x1.3b6be89e017c0p+23,
    -0x1.07c0e38bf206cp+14,
    -0x1.c70cffa4301e8p-26,
    0x1.b4d4b204c8f38p+8,
    -0x1.4464fdea2d7e0p+3,
    0x1.57f7db0933c54p-28,
    0x1.741b2b0ff92c0p+0,
    0x1.80eb26e831528p-19,
    -0x1.c32a6e3f03788p-5,
    -0x1.4003704b29160p-16,
    -0x1.91d8291a0d7b4p+1,
    -0x1.e1d4fb3a9c70ap+14,
    -0x1.d89947e486c88p+20,
    -0x1.6594680716b56p+28,
    -0x1.2171dca345378p+16,
    -0x1.1b8ed0200cdc4p-25,
    -0x1.aa3654037ea66p+26,
    0x1.520c6b7dcf62cp+19,
    -0x1.276c4f6e1c2c6p+12,
    0x1.ff2ba2c071f20p-12,
    0x1.57e0769e1518ep-14,
    -0x1.55791e11c8218p+6,
    0x1.a4818159428d0p+17,
    -0x1.d3f9f53e64948p-26,
    0x1.c822bed4c300cp-11,
    0x1.2ee0cb4bc0edcp+18,
    0x1.0cfc666ef2f10p+21,
    -0x1.1a2d367b85b24p-31,
    0x1.7b663ffc73d30p+2,
    -0x1.23f64521426fcp-21,
    -0x1.abfdcfdf99930p-28,
    -0x1.da01e0fbc13aep-21,
    -0x1.30bc1566f6a20p-30,
    -0x1.46b991c599fc0p+22,
    -0x1.376d0ab5c3f20p+12,
    -0x1.363c67ffe3304p-6,
    -0x1.e8769d987b0a0p+20,
    0x1.bd094ecf4aa42p+26,
    -0x1.24454f5a7ddd8p-5,
    -0x1.3821bb99db8b0p-23,
    -0x1.619d552c5ea46p-22,
    0x1.743f5bbeb9720p+19,
    0x1.73efa043d45e0p-32,
    -0x1.fd18855fb09aep+3,
    -0x1.6b9cc541cf3e0p+23,
    -0x1.91d1238e57f6ap+11,
    0x1.757df4c3c4820p-35,
    -0x1.2011ca7177d40p+17,
    -0x1.2802facf6a4e8p+2,
    0x1.831b85b54b5d0p+7,
    0x1.30dfd77b5c6d0p+21,
    0x1.a598b2ebac746p-8,
    -0x1.8dcedcdd75860p+7,
    0x1.6858d65c1c298p-20,
    0x1.98788025f2070p-3,
    0x1.51f1b0e10c972p-28,
    -0x1.921fe129e9a4cp-33,
    0x1.8e95b5c76c650p-6,
    0x1.50554e929deb0p+7,
    0x1.1f7776bc793b0p+26,
    -0x1.832c4cdb790ccp-23,
    -0x1.61b0127029ce0p-1,
    0x1.8e04c23fb40a8p-11,
    0x1.36d7f09d36600p-8,
    0x1.5fa6991533320p+17,
    -0x1.ce47d6f73e094p+14,
    -0x1.1475d4ddcc3b8p+20,
    -0x1.a8c2541aa7eb6p-28,
    0x1.4f0e40f131cd0p-32,
    -0x1.55e90b4703c78p-6,
    0x1.ea2ca908cb500p-7,
    0x1.9c27fd7c97c9cp-30,
    -0x1.81a9fa14374aap-25,
    -0x1.1f819e31563eep+9,
    0x1.4c224079e32a2p-25,
    0x1.b31581e514a94p-25,
    0x1.f9e90da570684p+13,
    0x1.ac079f380f6a0p-23,
    -0x1.448524b1d777ep-21,
    -0x1.6084626558fe8p-24,
    -0x1.bb2899b055082p-19,
    -0x1.d3644038e5038p-26,
    0x1.481d126113304p+14,
    -0x1.b644995c2d34cp-29,
    0x1.233d3f2687ea8p-27,
    0x1.f04eb56606184p+23,
    0x1.fac19a44c7470p-34,
    -0x1.17e0abd12f118p-14,
    0x1.7bdb1299a7dccp-2,
    -0x1.55734a5876380p+23,
    0x1.3fce0d5fcb740p+25,
    -0x1.c6e926ee4e66ep+12,
    -0x1.a4679dd950e84p+3,
    0x1.0cff18ad8df1cp-1,
    -0x1.ad987516ee8c8p+27,
    0x1.c1aa7e3314b20p+4,
    -0x1.1e1d7dde4dee8p-28,
    0x1.a752f4f149970p-19,
    0x1.54972c6012f5cp-14,
    0x1.167527cd02ca0p-28,
    0x1.3b6be89e017c0p+23,
    -0x1.07c0e38bf206cp+14,
    -0x1.c70cffa4301e8p-26,
    0x1.b4d4b204c8f38p+8,
    -0x1.4464fdea2d7e0p+3,
    0x1.57f7db0933c54p-28,
    0x1.741b2b0ff92c0p+0,
    0x1.80eb26e831528p-19,
    -0x1.c32a6e3f03788p-5,
    -0x1.4003704b29160p-16,
    -0x1.91d8291a0d7b4p+1,
    -0x1.e1d4fb3a9c70ap+14,
    -0x1.d89947e486c88p+20,
    -0x1.6594680716b56p+28,
    -0x1.2171dca345378p+16,
    -0x1.1b8ed0200cdc4p-25,
    -0x1.aa3654037ea66p+26,
    0x1.520c6b7dcf62cp+19,
    -0x1.276c4f6e1c2c6p+12,
    0x1.ff2ba2c071f20p-12,
    0x1.57e0769e1518ep-14,
    -0x1.55791e11c8218p+6,
    0x1.a4818159428d0p+17,
    -0x1.d3f9f53e64948p-26,
    0x1.c822bed4c300cp-11,
    0x1.2ee0cb4bc0edcp+18,
    0x1.0cfc666ef2f10p+21,
    -0x1.1a2d367b85b24p-31,
    0x1.7b663ffc73d30p+2,
    -0x1.23f64521426fcp-21,
    -0x1.abfdcfdf99930p-28,
    -0x1.da01e0fbc13aep-21,
    -0x1.30bc1566f6a20p-30,
    -0x1.46b991c599fc0p+22,
    -0x1.376d0ab5c3f20p+12,
    -0x1.363c67ffe3304p-6,
    -0x1.e8769d987b0a0p+20,
    0x1.bd094ecf4aa42p+26,
    -0x1.24454f5a7ddd8p-5,
    -0x1.3821bb99db8b0p-23,
    -0x1.619d552c5ea46p-22,
    -0x1.743f5bbeb9720p+19,
    -0x1.73efa043d45e0p-32,
    0x1.fd18855fb09aep+3,
    0x1.6b9cc541cf3e0p+23,
    0x1.91d1238e57f6ap+11,
    -0x1.757df4c3c4820p-35,
    0x1.2011ca7177d40p+17,
    0x1.2802facf6a4e8p+2,
    -0x1.831b85b54b5d0p+7,
    -0x1.30dfd77b5c6d0p+21,
    -0x1.a598b2ebac746p-8,
    0x1.8dcedcdd75860p+7,
    -0x1.6858d65c1c298p-20,
    -0x1.98788025f2070p-3,
    -0x1.51f1b0e10c972p-28,
    0x1.921fe129e9a4cp-33,
    -0x1.8e95b5c76c650p-6,
    -0x1.50554e929deb0p+7,
    -0x1.1f7776bc793b0p+26,
    0x1.832c4cdb790ccp-23,
    0x1.61b0127029ce0p-1,
    -0x1.8e04c23fb40a8p-11,
    -0x1.36d7f09d36600p-8,
    -0x1.5fa6991533320p+17,
    0x1.ce47d6f73e094p+14,
    0x1.1475d4ddcc3b8p+20,
    0x1.a8c2541aa7eb6p-28,
    -0x1.4f0e40f131cd0p-32,
    0x1.55e90b4703c78p-6,
    -0x1.ea2ca908cb500p-7,
    -0x1.9c27fd7c97c9cp-30,
    0x1.81a9fa14374aap-25,
    0x1.1f819e31563eep+9,
    -0x1.4c224079e32a2p-25,
    -0x1.b31581e514a94p-25,
    -0x1.f9e90da570684p+13,
    -0x1.ac079f380f6a0p-23,
    0x1.448524b1d777ep-21,
    0x1.6084626558fe8p-24,
    0x1.bb2899b055082p-19,
    0x1.d3644038e5038p-26,
    -0x1.481d126113304p+14,
    0x1.b644995c2d34cp-29,
    -0x1.233d3f2687ea8p-27,
    -0x1.f04eb56606184p+23,
    -0x1.fac19a44c7470p-34,
    0x1.17e0abd12f118p-14,
    -0x1.7bdb1299a7dccp-2,
    0x1.55734a5876380p+23,
    -0x1.3fce0d5fcb740p+25,
    0x1.c6e926ee4e66ep+12,
    0x1.a4679dd950e84p+3,
    -0x1.0cff18ad8df1cp-1,
    0x1.ad987516ee8c8p+27,
    -0x1.c1aa7e3314b20p+4,
    0x1.1e1d7dde4dee8p-28,
    -0x1.a752f4f149970p-19,
    -0x1.54972c6012f5cp-14,
    -0x1.167527cd02ca0p-28,
    -0x1.3b6be89e017c0p+23,
    0x1.07c0e38bf206cp+14,
    0x1.c70cffa4301e8p-26,
    -0x1.b4d4b204c8f38p+8,
    0x1.4464fdea2d7e0p+3,
    -0x1.57f7db0933c54p-28,
    -0x1.741b2b0ff92c0p+0,
    -0x1.80eb26e831528p-19,
    0x1.c32a6e3f03788p-5,
    0x1.4003704b29160p-16,
    0x1.91d8291a0d7b4p+1,
    0x1.e1d4fb3a9c70ap+14,
    0x1.d89947e486c88p+20,
    0x1.6594680716b56p+28,
    0x1.2171dca345378p+16,
    0x1.1b8ed0200cdc4p-25,
    0x1.aa3654037ea66p+26,
    -0x1.520c6b7dcf62cp+19,
    0x1.276c4f6e1c2c6p+12,
    -0x1.ff2ba2c071f20p-12,
    -0x1.57e0769e1518ep-14,
    0x1.55791e11c8218p+6,
    -0x1.a4818159428d0p+17,
    0x1.d3f9f53e64948p-26,
    -0x1.c822bed4c300cp-11,
    -0x1.2ee0cb4bc0edcp+18,
    -0x1.0cfc666ef2f10p+21,
    0x1.1a2d367b85b24p-31,
    -0x1.7b663ffc73d30p+2,
    0x1.23f64521426fcp-21,
    0x1.abfdcfdf99930p-28,
    0x1.da01e0fbc13aep-21,
    0x1.30bc1566f6a20p-30,
    0x1.46b991c599fc0p+22,
    0x1.376d0ab5c3f20p+12,
    0x1.363c67ffe3304p-6,
    0x1.e8769d987b0a0p+20,
    -0x1.bd094ecf4aa42p+26,
    0x1.24454f5a7ddd8p-5,
    0x1.3821bb99db8b0p-23,
    0x0.0000000000001p-1022,
    0x0.000000000000ep-1022,
    0x0.000000000000ep-1022,
    0x0.0000000000008p-1022,
    0x0.0000000000009p-1022,
    0x0.0000000000002p-1022,
    0x0.000000000000dp-1022,
    0x0.000000000000cp-1022,
    0x0.000000000000bp-1022,
    0x0.0000000000001p-1022,
    0x0.000000000000ep-1022,
    0x0.0000000000006p-1022,
    0x0.000000000000cp-1022,
    0x0.0000000000005p-1022,
    0x0.0000000000001p-1022,
    0x0.0p+0,
    0x0.0000000000007p-1022,
    0x0.000000000000ep-1022,
    0x0.0000000000002p-1022,
    0x0.000000000000dp-1022,
    0x1.4c12baa542c96p+998,
    0x1.d0c57b5654e1ep+998,
    0x1.eb6a61bab3460p+997,
    0x1.fcb8e5ca72566p+999,
    0x1.12b1f8cdd8d30p+995,
    0x1.6dfb2dc198755p+999,
    0x1.2641b5cec00f9p+999,
    0x1.501cbcc501488p+999,
    0x1.3c33a459ab24bp+999,
    0x1.d2c6cebe4f5dcp+999,
    0x1.69d635d74fec4p+999,
    0x1.5c6dc3d3f52cep+999,
    0x1.79ceaa77d1450p+997,
    0x1.722294a43e096p+998,
    0x1.11ef5d76f6470p+996,
    0x1.fcbbc42df289fp+999,
    0x1.df455a14e8c20p+998,
    0x1.8d3b288f64e53p+999,
    0x1.67b8d1ac14680p+997,
    0x1.ab8f09f0c36a0p+997,
    0x1.0000000000000p+0,
    0x1.0000000000000p-53,
    0x1.0000000000000p-106,
    0x1.0000000000000p+0,
    0x1.0000000000000p-53,
    0x1.0000000000001p+0,
    0x1.0000000000000p-53,
};
static const struct {
    size_t end;
    double sum;
} cases[] = {
    {10, 0x1.0000000000000p+0},
    {17, 0x1.bff2ee48e0530p-333},
    {20, 0x1.fffffffffffffp+52},
    {23, 0x1.0000000000001p+53},
    {26, 0x1.0000000000005p+53},
    {29, 0x1.1c37937e08001p+53},
    {33, 0x0.0p+0},
    {36, 0x0.0000000000003p-1022},
    {39, 0x0.0000000000001p-1022},
    {42, 0x1.fbefb9d24c1dap+969},
    {102, 0x1.46299a272d1b7p+897},
    {202, -0x1.3a5c2ed2f9224p+298},
    {302, -0x1.c829182d9a588p+28},
    {501, -0x1.619d552c5ea46p-22},
    {521, 0x0.000000000009fp-1022},
    {541, 0x1.448f1372a55d7p+1003},
    {544, 0x1.0000000000001p+0},
    {546, 0x1.0000000000000p+0},
    {548, 0x1.0000000000002p+0},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static size_t
case_begin(size_t i)
{
    return i == 0 ? 0 : cases[i - 1].end;
}

/* NaN equals NaN, and the sign of zero counts. */
static void
assert_double(double got, double want)
{
    if (isnan(want)) {
        assert_true(isnan(got));
    } else {
        assert_memory_equal(&got, &want, sizeof got);
    }
}

static void
sums_are_rounded_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct exact_sum one = {0};
        struct exact_sum many = {0};

        for (size_t j = case_begin(i); j < cases[i].end; j++) {
            exact_sum_add(&one, values[j]);
        }
        exact_sum_add_many(&many, values + case_begin(i), cases[i].end - case_begin(i));
        assert_true(exact_sum_ok(&one));
        assert_double(exact_sum_value(&one), cases[i].sum);
        assert_double(exact_sum_value(&many), cases[i].sum);
        exact_sum_fini(&one);
        exact_sum_fini(&many);
    }
}

/* Partials and the wide form round alike: a first number at the end of the range forces the wide one. */
static void
both_forms_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct exact_sum wide = {0};

        exact_sum_add(&wide, 0x1p1001);
        for (size_t j = case_begin(i); j < cases[i].end; j++) {
            exact_sum_add(&wide, values[j]);
        }
        exact_sum_add(&wide, -0x1p1001);
        assert_non_null(wide.wide);
        assert_double(exact_sum_value(&wide), cases[i].sum);
        exact_sum_fini(&wide);
    }
}

/* Any order, cut anywhere, written and read in between: the same value. */
static void
order_and_cuts_do_not_matter(void **state)
{
    struct random random = {42};

    (void)state;
    for (int round = 0; round < 300; round++) {
        size_t i = (size_t)random_below(&random, CASES);
        size_t count = cases[i].end - case_begin(i);
        double *shuffled = malloc(count * sizeof *shuffled);
        struct exact_sum total = {0};

        assert_non_null(shuffled);
        memcpy(shuffled, values + case_begin(i), count * sizeof *shuffled);
        for (size_t j = count; j > 1; j--) {
            size_t other = (size_t)random_below(&random, (int64_t)j);
            double swap = shuffled[j - 1];

            shuffled[j - 1] = shuffled[other];
            shuffled[other] = swap;
        }
        for (size_t from = 0; from < count;) {
            size_t many = 1 + (size_t)random_below(&random, (int64_t)(count - from));
            struct exact_sum part = {0};
            struct exact_sum back;
            char bytes[EXACT_SUM_BYTES_MAX];
            size_t size;

            exact_sum_add_many(&part, shuffled + from, many);
            assert_true(exact_sum_size(&part) <= sizeof bytes);
            assert_int_equal(exact_sum_write(&part, bytes), exact_sum_size(&part));
            assert_int_equal(exact_sum_read(bytes, sizeof bytes, &back, &size), GRANARY_OK);
            assert_int_equal(size, exact_sum_size(&part));
            exact_sum_merge(&total, &back);
            exact_sum_fini(&part);
            exact_sum_fini(&back);
            from += many;
        }
        assert_double(exact_sum_value(&total), cases[i].sum);
        exact_sum_fini(&total);
        free(shuffled);
    }
}

static void
edges_follow_ieee(void **state)
{
    static const struct {
        double a, b, sum;
    } pairs[] = {
        {INFINITY, 1.0, INFINITY},
        {-INFINITY, 1.0, -INFINITY},
        {INFINITY, -INFINITY, NAN},
        {NAN, 1.0, NAN},
        {INFINITY, NAN, NAN},
        {0x1.fffffffffffffp+1023, 0x1.fffffffffffffp+1023, INFINITY},
        {-0x1.fffffffffffffp+1023, -0x1p+970, -INFINITY},
        {-0.0, -0.0, 0.0},
        {1.5, -1.5, 0.0},
        {0x1.fffffffffffffp+1023, -0x1p+970, 0x1.ffffffffffffep+1023},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct exact_sum sum = {0};

        assert_double(exact_sum_value(&sum), 0.0);
        exact_sum_add(&sum, pairs[i].a);
        exact_sum_add(&sum, pairs[i].b);
        assert_double(exact_sum_value(&sum), pairs[i].sum);
        exact_sum_fini(&sum);
    }
}

/* A sum may leave the range and come back. */
static void
overflow_on_the_way_is_harmless(void **state)
{
    struct exact_sum sum = {0};

    (void)state;
    for (int i = 0; i < 5000; i++) {
        exact_sum_add(&sum, 0x1.fffffffffffffp+1023);
    }
    assert_double(exact_sum_value(&sum), INFINITY);
    for (int i = 0; i < 4999; i++) {
        exact_sum_add(&sum, -0x1.fffffffffffffp+1023);
    }
    exact_sum_add(&sum, 0x1p-1074);
    assert_double(exact_sum_value(&sum), 0x1.fffffffffffffp+1023);
    exact_sum_add(&sum, -0x1.fffffffffffffp+1023);
    assert_double(exact_sum_value(&sum), 0x1p-1074);
    exact_sum_fini(&sum);
}

/* Every cut and every changed byte of a written sum is refused, or gives some sum: never a crash. */
static void
damage_is_seen(void **state)
{
    struct exact_sum sums[2];

    (void)state;
    memset(sums, 0, sizeof sums);
    exact_sum_add(&sums[0], 1e20);
    exact_sum_add(&sums[0], 0.1);
    exact_sum_add(&sums[1], 1e300);
    exact_sum_add(&sums[1], -0x1p1001);
    for (int i = 0; i < 2; i++) {
        char bytes[EXACT_SUM_BYTES_MAX];
        size_t size = exact_sum_write(&sums[i], bytes);
        struct exact_sum back;
        size_t taken;

        for (size_t cut = 0; cut < size; cut++) {
            assert_int_equal(exact_sum_read(bytes, cut, &back, &taken), GRANARY_ECORRUPT);
        }
        for (size_t at = 0; at < size; at++) {
            for (int bit = 0; bit < 8; bit++) {
                bytes[at] ^= (char)(1 << bit);
                if (exact_sum_read(bytes, size, &back, &taken) == GRANARY_OK) {
                    assert_true(taken <= size);
                    exact_sum_add(&back, 1.0);
                    (void)exact_sum_value(&back);
                    exact_sum_fini(&back);
                }
                bytes[at] ^= (char)(1 << bit);
            }
        }
        exact_sum_fini(&sums[i]);
    }
}

/* ---- long runs ---- */

/* Numbers of sizes spread over so many powers of two, of either sign. */
static void
fill_spread(struct random *random, double *numbers, size_t count, int64_t powers)
{
    for (size_t i = 0; i < count; i++) {
        int64_t mantissa = ((int64_t)1 << 52) + random_below(random, (int64_t)1 << 52);
        int power = (int)(random_below(random, powers) - powers / 2) - 52;

        numbers[i] = ldexp((double)mantissa, power) * (random_below(random, 2) == 0 ? 1.0 : -1.0);
    }
}

/* Runs that need two levels, three, and more than there are, with every instruction set: the same as one by one. */
static void
long_runs_are_exact(void **state)
{
    static const int64_t spreads[] = {1, 20, 60, 300, 1900};
    enum { ROOM = 3 * EXACT_BLOCK };
    double *numbers = malloc(ROOM * sizeof *numbers);
    enum gr_simd best = gr_simd_level();
    struct random random = {7};

    (void)state;
    assert_non_null(numbers);
    for (int round = 0; round < 60; round++) {
        size_t count = (size_t)random_below(&random, ROOM);
        struct exact_sum one = {0};

        fill_spread(&random, numbers, count, spreads[round % 5]);
        if (round % 7 == 6 && count > 0) {
            numbers[random_below(&random, (int64_t)count)] = round % 2 == 0 ? INFINITY : NAN;
        }
        for (size_t i = 0; i < count; i++) {
            exact_sum_add(&one, numbers[i]);
        }
        for (int level = GR_SIMD_BASE; level <= (int)best; level++) {
            struct exact_sum many = {0};

            gr_simd_limit((enum gr_simd)level);
            exact_sum_add_many(&many, numbers, count);
            assert_double(exact_sum_value(&many), exact_sum_value(&one));
            exact_sum_fini(&many);
        }
        exact_sum_fini(&one);
    }
    gr_simd_limit(best);
    free(numbers);
}

/* Numbers cut into integers are those integers again, or it is said that they are not. */
static void
numbers_are_cut_into_integers(void **state)
{
    enum { COUNT = 100 };
    double numbers[COUNT];
    int64_t high[COUNT];
    int64_t low[COUNT];
    enum gr_simd best = gr_simd_level();
    struct random random = {9};

    (void)state;
    for (int round = 0; round < 200; round++) {
        bool all;
        int top;

        gr_simd_limit((enum gr_simd)(round % ((int)best + 1)));
        fill_spread(&random, numbers, COUNT, 1 + random_below(&random, 40));
        numbers[round % COUNT] = round % 3 == 0 ? 0.0 : -0.0;
        top = SIMD_CALL(exact_sum_top)(numbers, COUNT);
        all = SIMD_CALL(exact_sum_split)(numbers, COUNT, top, high, low);
        for (int i = 0; i < COUNT; i++) {
            gr_int128 whole = ((gr_int128)high[i] * ((gr_int128)1 << EXACT_LEVEL_BITS)) + low[i];

            assert_true(fabs(numbers[i]) < ldexp(1.0, top));
            assert_true(high[i] <= (int64_t)1 << 41 && high[i] >= -((int64_t)1 << 41));
            assert_true(low[i] <= (int64_t)1 << 41 && low[i] >= -((int64_t)1 << 41));
            assert_true(!all || ldexp((double)whole, top - EXACT_TOP_BITS) == numbers[i]);
        }
    }
    gr_simd_limit(best);
    numbers[0] = INFINITY;
    assert_int_equal(SIMD_CALL(exact_sum_top)(numbers, COUNT), 1025);
    assert_int_equal(SIMD_CALL(exact_sum_top)(numbers, 0), -1022);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_rounded_once),
        cmocka_unit_test(both_forms_agree),
        cmocka_unit_test(order_and_cuts_do_not_matter),
        cmocka_unit_test(edges_follow_ieee),
        cmocka_unit_test(overflow_on_the_way_is_harmless),
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(long_runs_are_exact),
        cmocka_unit_test(numbers_are_cut_into_integers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
