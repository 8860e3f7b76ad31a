// The whole state in a link: JSON, deflated, as base64url behind the `#`, where no server sees it. Where the browser cannot
// deflate it stands there as it is, after a `=`.

const LONGEST = 4_000_000;

export async function encode(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  if (!('CompressionStream' in window)) return `=${toBase64(bytes)}`;
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return toBase64(new Uint8Array(await new Response(packed).arrayBuffer()));
}

/** The state of a link; null where it is none. */
export async function decode(fragment) {
  try {
    const plain = fragment.startsWith('=');
    const bytes = fromBase64(plain ? fragment.slice(1) : fragment);
    const state = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(plain ? bytes : await inflated(bytes)));
    return state && typeof state === 'object' && !Array.isArray(state) ? state : null;
  } catch {
    return null;
  }
}

/** The bytes unpacked: a small link that unpacks to very much is refused. */
async function inflated(bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  const parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > LONGEST) {
      await reader.cancel();
      throw new RangeError('too long');
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function toBase64(bytes) {
  let text = '';
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function fromBase64(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));
}
