// What the words of a language look like: a table for each. Instructions are not listed: the first word of a statement is one.

const COMMENTS = { '(*': '*)', '/*': '*/' };
const NUMBER = ['number', /-?\b(?:0x[0-9a-f]+|0b[01]+|0[fd][0-9a-f]+|\d+(?:\.\d+)?(?:e[-+]?\d+)?)u?\b/iy];
const STRING = ['string', /"(?:[^"\\]|\\.)*"?/y];
const REGISTER = ['register', /%[\w$]+(?:\.[xyzw])?/y];
const INSTRUCTION = ['instruction', /[a-z][\w]*(?:(?:\.|::)[\w]+)*/iy];

// Each rule: the class of a token, what it looks like, and when it holds: at the first word of a statement (`first`), at the first
// line (`top`). A token of class `next` ends a statement.
const LANGUAGES = {
  litmus: {
    fresh: true,
    rules: [
      ['comment', /\/\/.*/y],
      ['open', /\(\*/y],
      STRING,
      ['keyword', /(?:PTX|CUDA|C)\b(?=\s+\S)/y, 'top'],
      ['title', /\S.*/y, 'top'],
      ['keyword', /~?(?:exists|forall|filter|locations|not|true|false)\b/y],
      ['thread', /P\d+\b(?:@[a-z]+ \d+(?:,\s*[a-z]+ \d+)*)?/y],
      ['label', /[A-Za-z_$][\w$]*:(?=\s)/y, 'first', true],
      ['guard', /@!?%?[\w$]+/y, 'first', true],
      REGISTER,
      ['instruction', /[a-z][\w]*(?:(?:\.|::)[\w]+)*(?![\w.]|\s*[=:(])/y, 'first'],
      NUMBER,
      ['name', /[A-Za-z_$][\w$]*/y],
      ['next', /[|;{}]/y],
      ['operator', /\/\\|\\\/|==?|!=|[[\](),~@]/y],
    ],
  },
  ptx: {
    fresh: false,
    lines: /^\s*\.(?:loc|file|version|target|address_size)\b/, // directives that end with their line
    rules: [
      ['comment', /\/\/.*/y],
      ['open', /\/\*/y],
      STRING,
      ['keyword', /\.[a-z][\w]*(?:::[\w]+)*/iy],
      ['label', /[A-Za-z_$%][\w$]*:(?!:)/y, 'first', true],
      ['guard', /@!?%?[\w$]+/y, 'first', true],
      [...INSTRUCTION, 'first'],
      REGISTER,
      NUMBER,
      ['name', /[A-Za-z_$][\w$]*/y],
      ['next', /[;{}]/y],
      ['operator', /[[\](),=+\-*!<>|&]/y],
    ],
  },
  cat: {
    fresh: true,
    rules: [
      ['comment', /\/\/.*/y],
      ['open', /\(\*/y],
      STRING,
      ['keyword', /(?:let|rec|and|in|include|if|then|else|as|show|unshow|flag|undefined_unless|procedure|call|do|forall|with|from|fun|match|enum|instructions|assert)\b/y],
      ['instruction', /~?(?:acyclic|irreflexive|empty)\b/y],
      NUMBER,
      ['name', /[A-Za-z_][\w.'-]*/y],
      ['operator', /\^-1|\^[*+]|[|&\\;*+?^~!=[\](){},]/y],
    ],
  },
  kernel: {
    fresh: true,
    rules: [
      ['comment', /#.*/y],
      ['keyword', /\s*\[\[?[^\]]*\]\]?(?=\s*(?:#.*)?$)/y, 'first'],
      ['thread', /[\w.-]+(?=\s*=)/y],
      STRING,
      ['string', /'[^']*'?/y],
      ['instruction', /(?:true|false)\b/y],
      NUMBER,
      ['operator', /[=[\]{},]/y],
    ],
  },
};

/** The kinds that have a table. */
export const KINDS = Object.keys(LANGUAGES);

/**
 * The tokens of a line, as pairs of class and text, and what the next line begins in: '' (a new statement), '+' (within one), or
 * the end of the comment that is open. `top`: nothing but comments stands above.
 */
export function tokens(kind, line, state, top) {
  const { rules, fresh, lines } = LANGUAGES[kind] ?? LANGUAGES.litmus;
  const found = [];
  let at = 0;
  let first = state !== '+';
  let open = state === '+' ? '' : state;
  while (at < line.length) {
    if (open) {
      const end = line.indexOf(open, at);
      const until = end < 0 ? line.length : end + open.length;
      found.push(['comment', line.slice(at, until)]);
      at = until;
      if (end >= 0) open = '';
      continue;
    }
    const [name, text, keeps] = token(rules, line, at, first, top);
    if (name === 'open') {
      open = COMMENTS[text];
      found.push(['comment', text]);
    } else {
      found.push([name === 'next' ? 'operator' : name, text]);
      if (name === 'next') first = true;
      else if (text.trim() && name !== 'comment' && !keeps) first = false;
    }
    at += text.length;
  }
  return [found, open || (fresh || first || lines?.test(line) ? '' : '+')];
}

function token(rules, line, at, first, top) {
  for (const [name, pattern, when, keeps] of rules) {
    if ((when === 'first' && !first) || (when === 'top' && !top)) continue;
    pattern.lastIndex = at;
    const match = pattern.exec(line);
    if (match && match[0]) return [name, match[0], keeps];
  }
  return ['', line[at]];
}
