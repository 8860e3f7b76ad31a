// The page: a state, which a link holds, and what is shown of it. Every key asks anew, and only the newest answer is shown.

import { byId, debounced, element } from './dom.js';
import { Latest, get } from './api.js';
import { T } from './strings.js';
import { decode, encode } from './link.js';
import { Texts } from './texts.js';
import { Problems } from './problems.js';
import { Verdicts, spoken } from './verdicts.js';
import { Reasons } from './reasons.js';
import { States } from './states.js';
import { ExecutionView } from './execution.js';
import { Repairs } from './repairs.js';
import { Models } from './models.js';
import { Library } from './library.js';
import { Cycle } from './cycle.js';
import { copyLink, keys, otherPane, splitter, theme, toast, windows } from './page.js';

// In milliseconds: after a key so long nothing is asked; so long an answer may take before the text alone is looked at.
const PAUSE = 60;
const SLOW = 250;
// Reasons and pictures cost the server more than a verdict: so long after the last key they are asked for.
const REST = 500;
const PAGE = [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, '0')).join('');

const said = byId('said');
const speak = debounced(text => { said.textContent = text; }, 700);
const texts = new Texts(byId('tabs'), byId('editors'), text => { said.textContent = text; });
const problems = new Problems(byId('problems'), texts);
const verdicts = new Verdicts(byId('verdicts'));
const models = new Models(byId('models'), byId('open-models'));
const view = new ExecutionView(byId('execution'), question, () => { states.mark(view.model, view.execution); reasons.show(view.model); reasons.again(); remember(); });
const states = new States(byId('states'), showExecution);
const reasons = new Reasons(byId('reasons'), view);
const repairs = new Repairs(byId('repairs'), question, applyRepair);
const library = new Library(byId('library'), openExample);
const cycle = new Cycle(byId('cycle'), answer => open(answer, answer.name), body => ({ ...body, page: PAGE }));
const checks = new Latest();
const glances = new Latest();
const details = new Latest();
let variant = '';
let wanted = { model: '', execution: null };
let loading = false;
let written = '';

/** What every question says of the test. */
function question() {
  const asked = { text: texts.text, kind: texts.kind, options: models.options, files: texts.files, page: PAGE };
  if (texts.cat !== null) asked.cat = texts.cat;
  if (variant) asked.variant = variant;
  return asked;
}

/** The state that a link holds. */
function stateNow() {
  return {
    v: 1, text: texts.text, kind: texts.kind, cat: texts.cat, files: texts.files, models: models.chosen, options: models.options, variant,
    model: view.model, execution: view.execution, off: [...view.picture.off], more: view.more,
  };
}

const check = debounced(runCheck, PAUSE);

const detail = debounced(runDetail, REST - PAUSE);

/** The text, or what is asked of it, is another: what was known of the old one is no more. */
function changed(typed = false) {
  if (loading) return;
  for (const question of [checks, glances, details]) question.abort();
  detail.cancel();
  clearTimeout(changed.slow);
  wanted = { model: view.model || wanted.model, execution: view.chosen ? view.execution : typed ? null : wanted.execution };
  byId('answer-pane').classList.add('old');
  byId('answer-pane').setAttribute('aria-busy', 'true');
  speak.cancel();
  verdicts.wait();
  check(typed);
  remember();
}

function asked() {
  return texts.kind === 'cat' ? [] : models.asked;
}

/** Who types gets the verdict and the states at once, and the rest when there is a pause. */
async function runCheck(typed) {
  if (!texts.text.trim()) {
    show({ models: [], diagnostics: [] });
    verdicts.message(T.empty);
    return;
  }
  changed.slow = setTimeout(glance, SLOW);
  const whole = question();
  const answer = await checks.post('/api/check', { ...whole, models: asked(), options: typed ? { ...whole.options, why: false } : whole.options });
  if (!answer) return;
  clearTimeout(changed.slow);
  glances.abort();
  if (answer.error !== undefined) {
    if (answer.status === 409) return;
    show({ models: [], diagnostics: [] });
    verdicts.failed(answer, () => changed());
    speak(answer.error ? T.failed(answer.error) : T.unreachable);
    return;
  }
  show(answer, typed);
}

/** The reasons and the pictures of what was decided without them. */
async function runDetail() {
  const answer = await details.post('/api/check', { ...question(), models: asked(), page: `${PAGE}-why` });
  if (!answer || answer.status === 409) return;
  if (answer.error !== undefined) {
    showDetails([]);
    verdicts.failed(answer, () => changed());
    return;
  }
  showDetails((answer.models ?? []).filter(model => model.verdict !== 'error'));
}

/** A check takes long: whether the text is in order is known sooner. */
async function glance() {
  const { text, kind, files, cat } = question();
  const asked = { text, kind, files, page: PAGE };
  if (cat !== undefined) asked.cat = cat;
  const answer = await glances.post('/api/diagnose', asked);
  if (answer && answer.error === undefined) problems.update(answer.diagnostics ?? []);
}

function show(answer, more = false) {
  const pane = byId('answer-pane');
  pane.classList.remove('old');
  pane.removeAttribute('aria-busy');
  problems.update(answer.diagnostics ?? []);
  fillVariants(answer.variants ?? [], texts.kind === 'kernel' || texts.kind === 'ptx');
  const found = answer.models ?? [];
  const right = found.filter(model => model.verdict !== 'error');
  if (!found.length) {
    if (problems.errors) verdicts.message(T.mistake);
    else if (texts.kind === 'cat') verdicts.message(T.catRight, element('button', { type: 'button', on: { click: tryModel } }, T.catTry));
  } else {
    verdicts.update(found);
  }
  states.update(right);
  repairs.update(right);
  if (more && right.length) {
    view.wait();
    reports(right); // those of the older text are no more
    detail();
  } else {
    showDetails(right);
  }
  const text = [problems.told(), spoken(found)].filter(Boolean).join('. ');
  if (text) speak(text);
  document.title = found.length ? `${found[0].verdict}: ${found[0].name ?? T.texts[texts.kind]} - ptxmm` : 'ptxmm';
}

function showDetails(right) {
  view.update(right, wanted);
  reasons.update(right);
  reports(right);
}

function reports(found) {
  const told = found.filter(model => model.text);
  byId('reports').hidden = !told.length;
  byId('reports-title').textContent = T.reports;
  byId('reports').querySelector('.body').replaceChildren(...told.map(model =>
    element('details', {}, element('summary', {}, T.reportOf(model.model)), element('pre', { tabindex: '0' }, model.text))));
}

function showExecution(model, execution) {
  reasons.clear();
  view.choose(model, execution);
  byId('execution').scrollIntoView({ block: 'nearest', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
}

/** Another test in the editor, which undo takes back. */
function open({ text, kind = 'litmus', files = {} }, name) {
  loading = true;
  variant = '';
  wanted = { model: '', execution: null };
  view.execution = null;
  view.chosen = false;
  kindSelect.value = kind;
  texts.set({ text, kind, cat: kind === 'cat' ? null : texts.cat, files }, true);
  fillVariants([]);
  loading = false;
  changed();
  texts.editor.area.focus();
  said.textContent = T.opened(name);
}

function openExample(example, answer) {
  open(answer, example.name);
}

/** The text of the tab is a model: it becomes the model beside a test. */
async function tryModel() {
  const cat = texts.text;
  const listed = await get('/api/examples');
  const first = Array.isArray(listed) ? listed.find(one => (one.kind ?? 'litmus') === 'litmus') : null;
  const answer = first ? await get(`/api/examples/${first.path}`) : {};
  loading = true;
  kindSelect.value = 'litmus';
  texts.set({ text: answer.text ?? '', kind: 'litmus', cat, files: {} }, true);
  models.set(models.chosen, models.options, true);
  loading = false;
  changed();
}

function applyRepair(repair) {
  texts.edit(repair.file, repair.text);
  toast(T.applied, T.undo, () => {
    texts.editor.area.focus();
    document.execCommand('undo');
    said.textContent = T.undone;
  });
  said.textContent = T.applied;
}

const variantSelect = element('select', { on: { change: () => { variant = variantSelect.value; changed(); } } });
const variantField = element('label', { class: 'field', hidden: true }, `${T.variant} `, variantSelect);
const addFile = element('button', { type: 'button', class: 'quiet', hidden: true, 'aria-label': T.addFile, title: T.addFile, on: { click: () => texts.addFile() } }, '+');
const kindSelect = byId('kind');

/** Offers these tests of a text. `keep`: where there are none, as of a text that cannot be read or was not in time, what was offered stays. */
function fillVariants(names, keep = false) {
  addFile.hidden = texts.kind !== 'kernel';
  if (keep && !names.length) return;
  variantField.hidden = names.length < 2;
  const gone = names.length > 0 && variant !== '' && !names.includes(variant);
  if (gone) variant = '';
  variantSelect.replaceChildren(...names.map(name => element('option', { value: name }, name)));
  variantSelect.value = variant || names[0] || '';
  if (gone) changed();
}

// The link.

const remember = debounced(async () => {
  if (loading) return;
  const packed = await encode(stateNow());
  written = `#${packed}`;
  history.replaceState(null, '', written);
}, 300);

async function share() {
  const packed = await encode(stateNow());
  written = `#${packed}`;
  history.replaceState(null, '', written);
  copyLink(location.href);
}

/** Shows what the address holds; without anything, a first example. */
async function restore() {
  const fragment = location.hash.slice(1);
  const state = fragment ? await decode(fragment) : null;
  if (fragment && (!state || typeof state.text !== 'string')) toast(T.badLink);
  if (state && typeof state.text === 'string') {
    loading = true;
    const kind = Object.hasOwn(T.kinds, state.kind) ? state.kind : 'litmus';
    kindSelect.value = kind;
    variant = typeof state.variant === 'string' ? state.variant : '';
    wanted = { model: String(state.model ?? ''), execution: state.execution ?? null };
    view.execution = null;
    view.chosen = false;
    view.model = '';
    view.more = words(state.more);
    view.picture.off = new Set(words(state.off));
    texts.set({ text: state.text, kind, cat: typeof state.cat === 'string' ? state.cat : null, files: textsOf(state.files) });
    fillVariants([]);
    models.set(words(state.models), state.options && typeof state.options === 'object' ? state.options : {}, typeof state.cat === 'string');
    loading = false;
    changed();
    return;
  }
  const listed = await get('/api/examples');
  const all = Array.isArray(listed) ? listed : [];
  const first = all.find(one => one.name === 'MP+rel+acq') ?? all[0];
  const answer = first ? await get(`/api/examples/${first.path.split('/').map(encodeURIComponent).join('/')}`) : {};
  if (texts.text) return; // somebody was faster
  loading = true;
  texts.set({ text: answer.text ?? '', kind: answer.kind ?? 'litmus', files: answer.files ?? {} });
  loading = false;
  changed();
}

function words(list) {
  return Array.isArray(list) ? list.filter(one => typeof one === 'string') : [];
}

function textsOf(files) {
  return files && typeof files === 'object' ? Object.fromEntries(Object.entries(files).filter(([, text]) => typeof text === 'string')) : {};
}

// Everything that can be pressed.

kindSelect.append(...Object.entries(T.kinds).map(([value, text]) => element('option', { value }, text)));
kindSelect.addEventListener('change', () => { texts.setKind(kindSelect.value); variant = ''; fillVariants([]); changed(); });
byId('tabs').after(addFile);
byId('editor-pane').querySelector('.tools').append(variantField);
texts.addEventListener('change', () => changed(true));
models.addEventListener('change', () => changed());
models.addEventListener('yours', event => { texts.setModel(event.detail); if (event.detail !== null) texts.choose('cat'); });
byId('open-library').addEventListener('click', () => library.show());
byId('open-cycle').addEventListener('click', () => cycle.show());
byId('open-help').addEventListener('click', () => byId('help').showModal());
byId('copy-link').addEventListener('click', share);
window.addEventListener('hashchange', () => { if (location.hash !== written) restore(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => view.picture.theme());
keys({
  problem: step => problems.next(step), library: () => library.show(), help: () => byId('help').showModal(),
  pane: () => otherPane(texts.editor), escape: () => reasons.clear(),
});
windows();
theme(() => view.picture.theme());
splitter();
if (!(await models.load())) toast(T.unreachable);
await restore();
