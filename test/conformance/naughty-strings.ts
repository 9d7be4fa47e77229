/** Text that programs have stumbled over, by what stumbles. None of it is meaningful here: all of it must be survived. */
const emptyAndBlank = [
  '',
  ' ',
  '   ',
  '\t',
  '\n',
  '\r\n',
  '\v\f',
  '\u00a0',
  '\u2003',
  '\u3000',
  '\ufeff',
  '\u200b\u200c\u200d',
];

const words = [
  ...['null', 'NULL', 'nil', 'None', 'undefined', 'true', 'false', 'NaN', 'Infinity', '-Infinity', 'void', '(null)'],
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'hasOwnProperty',
    'toString',
    'then',
    'toJSON',
    'length',
    '$where',
    '$gt',
  ],
  ...['default', 'undefined/undefined', 'CON', 'NUL', 'LPT1', '.', '..', '...', '~', '*', '?', '-', '--', '_'],
];

const numbers = [
  ...[
    '0',
    '-0',
    '00',
    '1',
    '-1',
    '1.0',
    '1e3',
    '1E+308',
    '1e400',
    '.5',
    '5.',
    '0x1F',
    '0b11',
    '0o17',
    '1_000',
    '1,000',
  ],
  ...['2147483647', '2147483648', '-2147483649', '9007199254740993', '9223372036854775808', '18446744073709551616'],
  ...['99999999999999999999999999999999', '3.14159265358979323846264338327950288', '٣', '１２３', '½', 'Ⅳ'],
];

const sql = [
  ...["'", "''", '"', '`', "' or '1'='1", "'; drop table runs; --", '1; select pg_sleep(10)--', "') or true--"],
  ...[
    '%',
    '_%',
    '%%%',
    '\\',
    '\\\\',
    "\\'; --",
    '$1',
    '$$',
    '$tag$x$tag$',
    ':name',
    '@var',
    '/* */',
    '{"a": 1}::jsonb',
  ],
  ...["E'\\\\x00'", '{1,2}', '{"', 'NULL::text', 'ARRAY[1]', '-infinity', 'infinity', 'now()'],
];

const shellAndPaths = [
  ...['$(id)', '`id`', '; ls', '| cat', '&& true', '> /dev/null', '$HOME', '%PATH%', '#{7*7}', '{{7*7}}', '<%= 7 %>'],
  ...[
    '../../../etc/passwd',
    '..\\..\\windows',
    '/etc/passwd',
    'file:///etc/passwd',
    'C:\\con\\con',
    '.git/config',
    '//',
    '///',
  ],
  ...[
    'a/b',
    'a%2fb',
    '%2e%2e%2f',
    '%00',
    '%',
    '%zz',
    '%ff',
    '%u0041',
    '+',
    'a+b',
    'a b',
    'a?b',
    'a#b',
    'a&b=c',
    ';a=b',
  ],
];

const markup = [
  ...[
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    '</title>',
    '<!--',
    ']]>',
    '&lt;',
    '&#0;',
    '&amp;amp;',
  ],
  ...['<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]><x>&y;</x>', 'javascript:alert(1)'],
  ...[
    '[x](javascript:alert(1))',
    '![](https://127.0.0.1/)',
    '{{name}}',
    '{{',
    '}}',
    '{{{{name}}}}',
    '{{ name }}',
    '{{__proto__}}',
  ],
];

const protocols = [
  ...[
    'Set-Cookie: a=b',
    'a\r\nX-Injected: 1',
    'data: x\n\ndata: y',
    'id: 5',
    ': comment',
    'event: run.completed\ndata: {}',
  ],
  ...[
    'Bearer x',
    'data:text/plain;base64,SGk=',
    'http://[::1]:1/',
    'http://169.254.169.254/latest/meta-data',
    'mailto:a@b',
  ],
];

const unicode = [
  ...[
    '\u0000',
    'a\u0000b',
    '\u0001\u0002\u001f',
    '\u007f',
    '\u0080\u009f',
    '\u2028\u2029',
    '\ufffe',
    '\uffff',
    '\ufffd',
  ],
  ...['\ud800', '\udfff', '\udc00\ud800', 'a\ud83d', '😀', '👩‍👩‍👧‍👦', '🏳️‍🌈', '🇩🇪', '\u{10ffff}', '\u{1f1e6}', 'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳'],
  ...[
    '\u202eevil',
    '\u2066\u2069',
    'שלום',
    'مرحبا',
    '田中さん',
    '한국어',
    'ÅÄÖåäö',
    'e\u0301',
    'ﬃ',
    'İı',
    'ẞß',
    'Ω≈ç√∫',
    '﷽',
    'ｆｕｌｌ',
  ],
];

const timesAndZones = [
  ...[
    '2026-02-30',
    '2026-13-01T00:00:00Z',
    '0000-00-00T00:00:00Z',
    '9999-12-31T23:59:60Z',
    '+275760-09-13T00:00:00.001Z',
  ],
  ...['2026-05-01T00:00:00', '2026-05-01T00:00:00+99:99', '1970-01-01T00:00:00Z', 'Europe/Atlantis', 'UTC+25', '0'],
];

const long = [
  'a'.repeat(256),
  'a'.repeat(1_025),
  'é'.repeat(10_000),
  '😀'.repeat(5_000),
  ' '.repeat(5_000),
  '('.repeat(5_000),
];

export const NAUGHTY_STRINGS: readonly string[] = [
  ...emptyAndBlank,
  ...words,
  ...numbers,
  ...sql,
  ...shellAndPaths,
  ...markup,
  ...protocols,
  ...unicode,
  ...timesAndZones,
  ...long,
];
