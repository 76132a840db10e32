// Sections that only the page of a single run has: what it printed, its pictures, and links to its
// files.

const sectionOf = (id, title, ...children) => element('section', {id, 'aria-labelledby': `${id}-title`},
  element('h2', {id: `${id}-title`}, title), ...children);

const runTable = ({title, head, rows}) => scrollRegion(title, tableElement({caption: title, head, rows}));

const tablesSection = ({tables, notes}) => sectionOf('tables', 'Tables', ...tables.map(runTable),
  notes.length === 0 ? null : element('ul', {}, ...notes.map((note) => element('li', {}, note))));

// A picture that is not there (gnuplot was missing) has no section.
function picturesSection({pictures}) {
  const shown = pictures.map((file) => {
    const name = capitalised(file.replace(/\.svg$/, '').replace(/-/g, ' '));
    return element('a', {href: file}, element('img', {src: file, alt: `Picture: ${name}`}));
  });
  return shown.length === 0 ? null : sectionOf('pictures', 'Pictures', ...shown);
}

const headerSection = ({header}) => sectionOf('header', 'What shapes the answer', element('ul', {class: 'columns'},
  ...header.map(([name, value]) => element('li', {}, element('span', {class: 'hint'}, `${name} `), value))));

const filesSection = ({files}) => sectionOf('files', 'Files', element('ul', {class: 'columns'},
  ...files.map((file) => element('li', {}, element('a', {href: file}, file)))));
